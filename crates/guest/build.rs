//! Builds what a guest brings along, so that `cargo build` is all that anybody has to do: its init, which must be
//! static, the library between the kernel and the C library, and the one that does so for programs of the host.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::Command,
};

/// The one target that guests run on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What cargo tells a build script about the build around it, and what the build inside must not hear.
const NOT_FOR_THE_BUILD_INSIDE: [&str; 8] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_PRIMARY_PACKAGE",
    "CLIPPY_ARGS",
    "DEBUG",
];

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    if env::var("TARGET")? != TARGET {
        return Err(format!("guests run on {TARGET} only").into());
    }
    let workspace = own.join("../..");
    for used in ["crates/posix/src", "crates/posix/Cargo.toml", "crates/vfs/src", "crates/guest/preload", "Cargo.lock"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(used).display());
    }
    build_init(&workspace, &out)?;
    build_preload(&own.join("preload/kernel.rs"), &out.join("kernel.so"))?;
    build_preload(&own.join("preload/fixed.rs"), &out.join("fixed.so"))
}

fn build_init(workspace: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    for name in NOT_FOR_THE_BUILD_INSIDE {
        cargo.env_remove(name);
    }
    cargo
        .current_dir(workspace)
        .args(["build", "--quiet", "--package", "posix", "--bin", "guest-init", "--release", "--target", TARGET])
        .arg("--target-dir")
        .arg(out.join("init"))
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    run(&mut cargo)?;
    std::fs::copy(out.join("init").join(TARGET).join("release/guest-init"), out.join("guest-init"))?;
    Ok(())
}

fn build_preload(source: &Path, library: &Path) -> Result<(), Box<dyn Error>> {
    let mut rustc = Command::new(env::var("RUSTC")?);
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "-C", "panic=abort", "-C", "opt-level=2"])
        .args(["-C", "link-arg=-nostdlib", "-C", "strip=symbols", "--target", TARGET, "-o"])
        .arg(library)
        .arg(source);
    run(&mut rustc)
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
