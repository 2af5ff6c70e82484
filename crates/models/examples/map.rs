//! scratch
use check::*;
use explore::*;
use models::mapping::*;
fn run<L: Layout + 'static>(v: Variant, crash: disk::CrashMode, threads: usize, sym: bool) {
    let t = FileMapping::<L>::new(v);
    let o = CheckOptions {
        crash,
        contract: vfs::contract::Contract::Mountable,
        continue_after_crash: true,
        crash_states_max: 4096,
        seed: 0,
    };
    let r = RunOptions {
        target: "x".into(),
        order: Order::BreadthFirst,
        visited: VisitedKind::Exact,
        symmetry: sym,
        threads,
        budget: Budget {
            time: Some(std::time::Duration::from_secs(
                std::env::var("T").ok().and_then(|t| t.parse().ok()).unwrap_or(120),
            )),
            ..Budget::default()
        },
        seed: 0,
        until_violation: false,
        stop: Stop::default(),
        checkpoint: None,
        resume: false,
    };
    let rep = t.check(o, &r, &mut |_, _| {}).unwrap();
    println!(
        "{:?} thr {} {crash} sym {sym}: complete {} states {} rev {} depth {} {:?} {:.2}s mem {}MB",
        v.writes,
        v.threads,
        rep.complete,
        rep.states,
        rep.states_revisited,
        rep.depth,
        rep.work,
        rep.elapsed.as_secs_f64(),
        rep.memory.peak_bytes >> 20
    );
    for v in rep.violations {
        println!("   {} {:?} x{} ops {}: {}", v.property, v.severity, v.count, v.trace.ops.len(), v.trace.detail);
        if std::env::var("STORY").is_ok() {
            let tr = t.minimise(&v.trace).unwrap();
            let rp = t.replay(&tr).unwrap();
            println!("{}", Story { trace: &tr, replayed: &rp, every_step: true });
        }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let w = match a[2].as_str() {
        "naive" => Writes::Naive,
        "cached" => Writes::Cached,
        "ordered" => Writes::Ordered,
        _ => Writes::Barrier,
    };
    let mut v = Variant::study(w, a[3].parse().unwrap());
    let crash = a[4].parse().unwrap();
    if let Some(f) = a.get(5) {
        v.files = f.parse().unwrap();
        v.blocks = a[6].parse().unwrap();
    }
    let sym = a.get(7).is_none();
    v.symmetry = sym;
    if a[1] == "link" { run::<Link>(v, crash, 2, sym) } else { run::<Index>(v, crash, 2, sym) }
}
