//! Pages of other sites may not use the server through a visitor's browser.
//!
//! A request that changes something and comes from a page must come from one of our own: its
//! `Origin` names the same host as its `Host`. Where the server listens on loopback, `Host` must
//! moreover be a name of loopback: else a site could let its own name point there and pass.

use crate::problem::Problem;
use crate::state::State;
use axum::extract::{self, Request};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// Names of loopback.
pub const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Lets a request through, or answers for the app.
pub async fn check(
    extract::State(state): extract::State<State>,
    request: Request,
    next: Next,
) -> Response {
    let hosts = state.config().hosts.as_deref();
    match judge(request.method(), request.headers(), hosts) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn judge(method: &Method, headers: &HeaderMap, hosts: Option<&[String]>) -> Result<(), Problem> {
    let text = |name| headers.get(name)?.to_str().ok();
    let host = text(header::HOST);
    if let (Some(host), Some(allowed)) = (host, hosts) {
        let name = without_port(host);
        if !allowed.iter().any(|a| a.eq_ignore_ascii_case(name)) {
            return Err(Problem::CrossOrigin(format!(
                "This server does not answer to the name `{name}`; start it with --allow-host \
                 {name} if it should"
            )));
        }
    }
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let from = origin.split_once("://").map_or(origin, |(_, host)| host);
    if host.is_some_and(|host| host.eq_ignore_ascii_case(from)) {
        return Ok(());
    }
    Err(Problem::CrossOrigin(format!("A page of {origin} may not change anything here.")))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(method: &Method, headers: &[(&'static str, &'static str)]) -> bool {
        let map = headers.iter().map(|&(n, v)| (n.parse().unwrap(), v.parse().unwrap()));
        let map: HeaderMap = map.collect();
        let hosts = LOOPBACK.map(str::to_owned);
        judge(method, &map, Some(&hosts)).is_ok()
    }

    #[test]
    fn pages_of_other_sites_are_turned_away() {
        let own = [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")];
        assert!(judged(&Method::POST, &own));
        assert!(judged(&Method::POST, &[("host", "127.0.0.1:8080")]), "no page: curl");
        assert!(judged(&Method::GET, &[("host", "[::1]:8080"), ("origin", "http://evil.test")]));
        for origin in ["http://evil.test", "http://127.0.0.1:9999", "null"] {
            assert!(!judged(&Method::POST, &[("host", "127.0.0.1:8080"), ("origin", origin)]));
        }
        let rebound = [("host", "evil.test:8080"), ("origin", "http://evil.test:8080")];
        assert!(!judged(&Method::POST, &rebound));
        assert!(!judged(&Method::GET, &rebound), "not even to read");
    }
}
