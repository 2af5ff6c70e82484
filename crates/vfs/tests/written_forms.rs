//! Any op survives its text and its JSON, whatever its names contain.

use std::sync::Arc;

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use vfs::{Data, Fallocate, Fd, File, Op, OpKind, OpenFlags, Path, Rename, WriteAt, WriteVia, text::parse_workload};

const CASES: u32 = 4096;

/// Text with everything that quoting can get wrong.
fn odd_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '"',
        '\\',
        '\'',
        '\n',
        '\r',
        '\t',
        '\0',
        '\u{7f}',
        '\u{85}',
        '\u{2028}',
        '\u{202e}',
        '\u{301}',
        '\u{10ffff}',
        '/',
        '.',
        '#',
        ',',
        '(',
        ')',
        '=',
        '{',
        '}',
        ' ',
        'é',
        '字',
        '🦀',
        'a',
    ]);
    prop::collection::vec(prop_oneof![3 => odd, 1 => any::<char>()], 0..12).prop_map(String::from_iter)
}

fn path() -> impl Strategy<Value = Path> {
    odd_text().prop_map(|text| Path::new(&format!("/{}", text.replace('\0', ""))).unwrap())
}

fn shared_text() -> impl Strategy<Value = Arc<str>> {
    odd_text().prop_map(Arc::from)
}

fn fd() -> impl Strategy<Value = Fd> {
    any::<u8>().prop_map(Fd)
}

fn file() -> impl Strategy<Value = File> {
    prop_oneof![path().prop_map(File::Path), fd().prop_map(File::Fd)]
}

/// Small numbers, large ones, and the last one.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, any::<u64>(), Just(u64::MAX)]
}

fn data() -> impl Strategy<Value = Data> {
    (number(), any::<u8>()).prop_map(|(len, fill)| Data { len, fill })
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(0o644), Just(0o755), 0..0o10000_u32, any::<u32>()]
}

fn any_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn op() -> impl Strategy<Value = Op> {
    any_of(OpKind::ALL).prop_flat_map(op_of)
}

fn op_of(kind: OpKind) -> BoxedStrategy<Op> {
    let range = || (file(), number(), number());
    let at = prop_oneof![number().prop_map(WriteAt::Offset), Just(WriteAt::End)];
    match kind {
        OpKind::Open => (path(), any::<u32>().prop_map(OpenFlags), mode(), fd())
            .prop_map(|(path, flags, mode, fd)| Op::Open { path, flags, mode, fd })
            .boxed(),
        OpKind::Close => fd().prop_map(|fd| Op::Close { fd }).boxed(),
        OpKind::Create => (path(), mode()).prop_map(|(path, mode)| Op::Create { path, mode }).boxed(),
        OpKind::Read => range().prop_map(|(file, offset, len)| Op::Read { file, offset, len }).boxed(),
        OpKind::Write => (file(), at, data(), any_of(WriteVia::ALL))
            .prop_map(|(file, at, data, via)| Op::Write { file, at, data, via })
            .boxed(),
        OpKind::Truncate => (file(), number()).prop_map(|(file, size)| Op::Truncate { file, size }).boxed(),
        OpKind::Fallocate => (range(), any_of(Fallocate::ALL))
            .prop_map(|((file, offset, len), how)| Op::Fallocate { file, how, offset, len })
            .boxed(),
        OpKind::Mkdir => (path(), mode()).prop_map(|(path, mode)| Op::Mkdir { path, mode }).boxed(),
        OpKind::Rmdir => path().prop_map(|path| Op::Rmdir { path }).boxed(),
        OpKind::Unlink => path().prop_map(|path| Op::Unlink { path }).boxed(),
        OpKind::Rename => {
            (path(), path(), any_of(Rename::ALL)).prop_map(|(from, to, how)| Op::Rename { from, to, how }).boxed()
        }
        OpKind::Link => (path(), path()).prop_map(|(from, to)| Op::Link { from, to }).boxed(),
        OpKind::Symlink => (shared_text(), path()).prop_map(|(target, path)| Op::Symlink { target, path }).boxed(),
        OpKind::Chmod => (path(), mode()).prop_map(|(path, mode)| Op::Chmod { path, mode }).boxed(),
        OpKind::Chown => (path(), any::<Option<u32>>(), any::<Option<u32>>())
            .prop_map(|(path, uid, gid)| Op::Chown { path, uid, gid })
            .boxed(),
        OpKind::Setxattr => {
            (path(), shared_text(), data()).prop_map(|(path, name, value)| Op::Setxattr { path, name, value }).boxed()
        }
        OpKind::Removexattr => (path(), shared_text()).prop_map(|(path, name)| Op::Removexattr { path, name }).boxed(),
        OpKind::Fsync => file().prop_map(|file| Op::Fsync { file }).boxed(),
        OpKind::Fdatasync => file().prop_map(|file| Op::Fdatasync { file }).boxed(),
        OpKind::Msync => range().prop_map(|(file, offset, len)| Op::Msync { file, offset, len }).boxed(),
        OpKind::Sync => Just(Op::Sync).boxed(),
        OpKind::Syncfs => Just(Op::Syncfs).boxed(),
        OpKind::Remount => Just(Op::Remount).boxed(),
        OpKind::Crash => Just(Op::Crash).boxed(),
    }
}

/// The same cases in every run.
fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(strategy, test).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_op_survives_its_text() {
    check(&op(), |op| {
        let text = op.to_string();
        prop_assert_eq!(text.lines().count(), 1, "one line: {}", text);
        prop_assert_eq!(text.parse::<Op>(), Ok(op));
        Ok(())
    });
}

#[test]
fn any_op_survives_its_json() {
    check(&op(), |op| {
        let json = serde_json::to_string(&op).unwrap();
        prop_assert_eq!(serde_json::from_str::<Op>(&json).unwrap(), op.clone(), "{}", json);
        let value = serde_json::to_value(&op).unwrap();
        prop_assert_eq!(serde_json::from_value::<Op>(value).unwrap(), op);
        Ok(())
    });
}

#[test]
fn a_workload_survives_its_text() {
    check(&prop::collection::vec(op(), 0..6), |ops| {
        let lines: Vec<String> = ops.iter().map(|op| format!("{op} # said twice: {op}")).collect();
        prop_assert_eq!(parse_workload(&lines.join("\n")), Ok(ops));
        Ok(())
    });
}

#[test]
fn any_text_is_read_or_refused_without_a_panic() {
    let broken = (op(), any::<prop::sample::Index>(), odd_text()).prop_map(|(op, cut, odd)| {
        let characters: Vec<char> = op.to_string().chars().collect();
        let cut = cut.index(characters.len() + 1);
        characters[..cut].iter().copied().chain(odd.chars()).chain(characters[cut..].iter().copied()).collect()
    });
    check(&broken, |text: String| {
        if let Err(error) = text.parse::<Op>() {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{} in {:?}", error, text);
        }
        Ok(())
    });
}
