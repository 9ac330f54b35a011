//! `POST U`: runs a command and answers with its end, at once or as a stream of frames.

mod command;
pub mod environment;
pub mod frames;
mod one_shot;
pub mod relay;
pub mod request;
mod supervised;

use std::sync::Arc;
use std::time::Duration;

use crate::errors::Answer;
use crate::http::exchange::Exchange;
use crate::jobs::follow;
use crate::jobs::registry::Start;
use crate::service::Service;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let body = exchange.read_body(service.config.max_request_bytes)?;
    let request = request::parse(&body)?;
    drop(body);
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let is_stream = request.stream;
    if !is_stream && request.job.is_none() {
        let running = service.enter_running()?;
        let command = command::start(service, request)?;
        return one_shot::answer(service, exchange, command, timeout, running);
    }
    match service.jobs.start(service, &request)? {
        Start::New(job, running) => {
            // The end of a job that was not kept is its client's, so its caller's request is answered here.
            supervised::answer(service, exchange, &job, request, running)
        }
        Start::Known(job) if is_stream => follow::begin(exchange, &job, [0, 0], None),
        Start::Known(job) => one_shot::answer_of(service, exchange, &job),
    }
}
