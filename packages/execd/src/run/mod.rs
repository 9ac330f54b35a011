//! `POST U`: runs a command and answers with its end, at once or as a stream of frames.

mod command;
pub mod environment;
mod one_shot;
mod relay;
pub mod request;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use crate::errors::Answer;
use crate::http::exchange::Exchange;
use crate::service::Service;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let body = exchange.read_body(service.config.max_request_bytes)?;
    let request = request::parse(&body)?;
    drop(body);
    let running = service.enter_running()?;
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let is_stream = request.stream;
    let command = command::start(service, request)?;
    let result = match is_stream {
        true => stream::answer(service, exchange, command, timeout),
        false => one_shot::answer(service, exchange, command, timeout),
    };
    drop(running);
    result
}
