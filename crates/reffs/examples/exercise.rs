//! What `cargo xtask bench` times on a mounted file system, ours or another's.
//!
//! `exercise names DIR ROUNDS`: a file is created, written, closed, renamed and unlinked, over and over.
//! `exercise snapshots DIR ROUNDS`: among a hundred files, one is changed between a save and a restore; the save and
//! the restore are timed, from the caller's side.
//! `exercise refusals DIR ROUNDS`: two restores of what was never saved, which cost the way there and back.
//!
//! Each prints the nanoseconds of one round.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use reffs::Client;

const FILES: u32 = 100;
const BYTES: [u8; 4096] = [1; 4096];

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = || io::Error::other("usage: exercise names|snapshots|refusals DIR ROUNDS");
    let [what, dir, rounds] = &words[..] else { return Err(usage()) };
    let rounds: u32 = rounds.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(usage)?;
    let time = match &**what {
        "names" => names(dir.as_ref(), rounds)?,
        "snapshots" => snapshots(dir.as_ref(), rounds)?,
        "refusals" => refusals(dir.as_ref(), rounds)?,
        _ => return Err(usage()),
    };
    println!("{}", (time / rounds).as_nanos());
    Ok(())
}

fn names(dir: &Path, rounds: u32) -> io::Result<Duration> {
    let (old, new) = (dir.join("old"), dir.join("new"));
    let start = Instant::now();
    for _ in 0..rounds {
        let mut file = fs::File::create(&old)?;
        file.write_all(&BYTES)?;
        drop(file);
        fs::rename(&old, &new)?;
        fs::remove_file(&new)?;
    }
    Ok(start.elapsed())
}

fn snapshots(dir: &Path, rounds: u32) -> io::Result<Duration> {
    for number in 0..FILES {
        fs::write(dir.join(number.to_string()), BYTES)?;
    }
    let client = Client::open(dir)?;
    let mut time = Duration::ZERO;
    for round in 0..rounds {
        let start = Instant::now();
        client.save(1)?;
        time += start.elapsed();
        fs::write(dir.join((round % FILES).to_string()), "changed")?;
        let start = Instant::now();
        client.restore(1)?;
        time += start.elapsed();
    }
    Ok(time)
}

fn refusals(dir: &Path, rounds: u32) -> io::Result<Duration> {
    const NEVER_SAVED: u64 = u64::MAX;
    let client = Client::open(dir)?;
    let start = Instant::now();
    for _ in 0..2 * rounds {
        if client.restore(NEVER_SAVED).is_ok() {
            return Err(io::Error::other("something was restored that was never saved"));
        }
    }
    Ok(start.elapsed())
}
