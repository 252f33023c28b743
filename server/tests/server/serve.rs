//! The built binary as a server on a socket: its address, kill -9, one owner per folder, SIGTERM.

use crate::app::FIGURE_4;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshwork"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut child = command(data).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Meshwork is at http://").unwrap_or_else(|| {
            let mut errors = String::new();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            panic!("{line}{errors}")
        });
        Self { address: address.trim_end_matches('/').to_owned(), child }
    }

    /// Sends a request over the socket; status and body.
    fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: \
             text/plain\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        (status, body)
    }

    fn run(&self, id: &str) -> Value {
        serde_json::from_str(&self.send("GET", &format!("/api/v1/runs/{id}"), "").1).unwrap()
    }

    fn wait(&self, id: &str, wish: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let run = self.run(id);
            if wish(&run) {
                return run;
            }
            assert!(begin.elapsed() < Duration::from_mins(2), "still {run}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_killed_server_goes_on_where_it_must() {
    let folder = TempDir::new().unwrap();
    let mut server = Server::start(folder.path());
    let id = |body: &str| {
        serde_json::from_str::<Value>(body).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (status, body) = server.send("POST", "/api/v1/runs", FIGURE_4);
    assert_eq!(status, 201, "{body}");
    let short = id(&body);
    let finished = server.wait(&short, |run| run["state"] == "done");
    let text = FIGURE_4.replace("steps:20", "steps:1000000");
    let long = id(&server.send("POST", "/api/v1/runs", &text).1);
    server.wait(&long, |run| run["last_step"].as_u64() > Some(10));
    server.child.kill().unwrap(); // SIGKILL
    server.child.wait().unwrap();

    let server = Server::start(folder.path());
    assert_eq!(server.run(&short), finished);
    let run = server.wait(&long, |run| run["last_step"].is_u64());
    assert_eq!(run["restarts"], 1, "{run}");
}

#[test]
fn a_folder_has_one_owner() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(folder.path());
    let second = command(folder.path()).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let errors = String::from_utf8(second.stderr).unwrap();
    assert!(errors.contains("another meshwork serves"), "{errors}");
    drop(server);
    Server::start(folder.path());
}

#[test]
fn a_broken_database_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("meshwork.db");
    std::fs::write(
        &file,
        "no database, but long enough for a header of a hundred bytes ".repeat(4),
    )
    .unwrap();
    let output = command(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&*file.to_string_lossy()), "{errors}");
}

#[cfg(unix)]
#[test]
fn a_terminated_server_ends_by_itself() {
    let folder = TempDir::new().unwrap();
    let mut server = Server::start(folder.path());
    assert_eq!(server.send("GET", "/", "").0, 200);
    let text = FIGURE_4.replace("steps:20", "steps:1000000");
    let (_, body) = server.send("POST", "/api/v1/runs", &text);
    let run: Value = serde_json::from_str(&body).unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    server.wait(&id, |run| run["state"] == "running");
    // Someone listens to the run all the while.
    let mut listener = TcpStream::connect(&server.address).unwrap();
    let host = &server.address;
    write!(listener, "GET /api/v1/runs/{id}/events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let pid = server.child.id().to_string();
    let begin = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
    assert!(begin.elapsed() < Duration::from_secs(30));
}
