//! The browser tests: Playwright, its packages, and a Chromium for it.

use crate::{files, hash, say, sh};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// Playwright with a browser, ready to be given a command (`test` …).
pub(crate) fn playwright() -> Result<Command> {
    let Some(node) = sh::find(&["node"]) else {
        bail!("the browser tests need Node.js 20 or later with npm; neither needs to be global");
    };
    install_packages()?;
    let mut playwright = Command::new(node);
    playwright
        .current_dir(e2e())
        .arg("node_modules/@playwright/test/cli.js")
        .env("MESHWORK_BIN", sh::meshwork());
    if let Some(chromium) = chromium(&playwright)? {
        playwright.env("CHROMIUM", chromium);
    }
    Ok(playwright)
}

/// The folder of the browser tests.
pub(crate) fn e2e() -> PathBuf {
    sh::root().join("e2e")
}

/// `npm ci`, unless the packages are those of the lock file already.
fn install_packages() -> Result<()> {
    let lock = e2e().join("package-lock.json");
    let wanted = hash::hex([files::read(&lock)?.as_slice()]);
    let stamp = e2e().join("node_modules/.installed");
    if fs::read_to_string(&stamp).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    say::step("Installing Playwright", "about 10 s, once");
    let npm = sh::find(&["npm"]).context("the browser tests need npm, which comes with Node.js")?;
    sh::run(
        Command::new(npm)
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(e2e())
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )?;
    files::write(&stamp, wanted)
}

/// The system's Chromium, else Debian's package, else Playwright's own (nothing to name).
fn chromium(playwright: &Command) -> Result<Option<PathBuf>> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Ok(Some(PathBuf::from(named)));
    }
    let known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    if let Some(found) = sh::find(&known) {
        return Ok(Some(found));
    }
    if sh::may_install_debian_packages() {
        say::step("Installing Debian's chromium", "about 1 min, once");
        sh::install_debian_packages(&["chromium"])?;
        return sh::find(&known).context("chromium was installed and is not there").map(Some);
    }
    say::step("Installing Playwright's Chromium", "about 1 min, once");
    let mut install = Command::new(playwright.get_program());
    install.args(playwright.get_args()).args(["install", "chromium"]).current_dir(e2e());
    sh::run(&mut install)?;
    Ok(None)
}
