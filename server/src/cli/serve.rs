//! `meshwork serve`: the studio and the API on an address.

use super::Failure;
use super::input::{gibibytes, seconds};
use crate::origin::LOOPBACK;
use crate::state::{Config, State};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen; other machines reach the server only if this is no loopback address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The folder for studies, runs and tables [default: the user's data folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Answer to this host name too, when listening on loopback (may be repeated)
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Let runs hold so many GiB together
    #[arg(long, value_name = "GIB", default_value_t = 8, value_parser = gibibytes())]
    memory: u32,
    /// Give a pipeline up whose cells have not moved for so long [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    patience: Option<Duration>,
}

pub(super) fn serve(args: Args) -> Result<(), Failure> {
    let logs = EnvFilter::try_from_env("MESHWORK_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(logs).with_writer(io::stderr).init();
    let data = args.data.or_else(data_folder).ok_or_else(|| {
        Failure::Misuse("there is no home folder to keep data in; say --data DIR".to_owned())
    })?;
    let mut config = Config::new(&data);
    config.limits.memory = u64::from(args.memory) << 30;
    config.limits.patience = args.patience.unwrap_or(config.limits.patience);
    if args.listen.ip().is_loopback() {
        let own = LOOPBACK.map(str::to_owned).into_iter().chain([args.listen.ip().to_string()]);
        config.hosts = Some(own.chain(args.allow_host).collect());
    }
    let misuse = |e: &dyn std::fmt::Display| Failure::Misuse(e.to_string());
    let state = State::open(config).map_err(|e| misuse(&e))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| misuse(&e))?;
    runtime.block_on(listen(args.listen, state.clone()))?;
    // Runs stop between two steps; they begin again with the next server.
    state.queue().stop();
    Ok(())
}

async fn listen(address: SocketAddr, state: State) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await.map_err(|e| {
        Failure::Misuse(format!("{address} cannot be listened on: {e}; say --listen ADDR"))
    })?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        let note = "note: whoever reaches this address can run studies and upload tables here";
        writeln!(io::stderr().lock(), "{note}")?;
    }
    writeln!(io::stdout().lock(), "Meshwork is at http://{address}/")?;
    let ended = {
        let state = state.clone();
        async move {
            signal().await;
            state.close();
            tokio::spawn(leave_on_second_signal());
        }
    };
    Ok(axum::serve(listener, crate::app(state)).with_graceful_shutdown(ended).await?)
}

/// Runs may be within a long step; who cannot wait for its end says so again.
#[expect(clippy::exit, reason = "whatever is going on begins again at the next start")]
async fn leave_on_second_signal() {
    signal().await;
    std::process::exit(130);
}

/// Waits for Ctrl-C or SIGTERM.
async fn signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending::<()>().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

/// Where programs keep the user's data on this system.
fn data_folder() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        from("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        std::env::home_dir().map(|home| home.join("Library/Application Support"))
    } else {
        from("XDG_DATA_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".local/share")))
    };
    base.map(|base| base.join("meshwork"))
}
