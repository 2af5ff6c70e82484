//! scratch
mod searching;
use disk::CrashMode;
use models::mapping::*;
use searching::*;

#[test]
fn scratch() {
    let spec = std::env::var("SPEC").unwrap();
    for line in spec.split(';') {
        let a: Vec<&str> = line.split_whitespace().collect();
        let w = match a[1] {
            "naive" => Writes::Naive,
            "cached" => Writes::Cached,
            "ordered" => Writes::Ordered,
            _ => Writes::Barrier,
        };
        let crash: CrashMode = a[3].parse().unwrap();
        let mut v = variant(w, a[2].parse().unwrap(), (a[4].parse().unwrap(), a[5].parse().unwrap()));
        v.symmetry = a.get(6).is_none();
        let r = if a[0] == "link" { search::<Link>(v, crash, 1) } else { search::<Index>(v, crash, 1) };
        println!(
            "{line}: states {} {:?} {:.2}s",
            r.states,
            r.violations.iter().map(|v| format!("{}x{} {}", v.property, v.count, v.trace.detail)).collect::<Vec<_>>(),
            r.elapsed.as_secs_f64()
        );
    }
}
