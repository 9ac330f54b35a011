pub fn answer(_: &std::sync::Arc<crate::service::Service>, _: &mut crate::http::exchange::Exchange) -> crate::errors::Answer<()> { Err(crate::errors::bad_request("not yet")) }
