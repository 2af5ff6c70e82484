//! What must come before an op so that it can work: directories that are missing, files that must be open or closed or
//! gone, a first write into a file that must not be empty.
//!
//! The tool keeps account by name. A file that was renamed is another file to it, and a size is that of a name: where
//! that is not so, an op fails or leaves a hole, and that is part of the workload.

use super::{
    choose::{Arguments, Chosen, Kind, Persistence, Size, Span},
    names::{ALL, C, Name, ROOT},
};
use crate::generate::jlang::{Call, MODE, OPEN_FILE, Range};

/// The bytes of an append, which is also the first write.
const APPEND: u64 = 32768;
const UNALIGNED: u64 = 5000;
const THERE: u64 = 2000;
const START: u64 = 8192;
const SHORT: u64 = 2500;

/// Whether a name is there, by the account of the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Status {
    #[default]
    Absent,
    Closed,
    Open,
}

/// The account, and the calls so far.
struct Satisfied {
    status: [Status; ALL.len()],
    /// The size by which spans are reckoned, once something was written.
    size: [Option<u64>; ALL.len()],
    calls: Vec<Call>,
}

/// The calls of a workload.
pub(super) fn calls(workload: &[Chosen]) -> Vec<Call> {
    let mut account = Satisfied { status: Default::default(), size: [None; ALL.len()], calls: Vec::new() };
    account.set(ROOT, Status::Closed);
    for chosen in workload {
        account.op(chosen.kind, chosen.arguments);
        match chosen.persistence {
            _ if chosen.kind.persists() => {}
            Persistence::Fsync(name) => {
                account.parent(name);
                account.open(name);
                account.calls.push(Call::Fsync(name.path()));
            }
            Persistence::Sync => account.calls.push(Call::Sync),
            Persistence::Nothing => {}
        }
    }
    ALL.into_iter().for_each(|name| account.close(name));
    account.calls
}

impl Satisfied {
    fn status(&self, name: Name) -> Status {
        self.status[name.number()]
    }

    fn set(&mut self, name: Name, status: Status) {
        self.status[name.number()] = status;
    }

    fn op(&mut self, kind: Kind, arguments: Arguments) {
        if kind != Kind::Mkdir {
            arguments.names().for_each(|name| self.parent(name));
        }
        match (kind, arguments) {
            (Kind::Mkdir, Arguments::One(name)) => self.mkdir(name),
            (_, Arguments::One(name)) => self.on_one(kind, name),
            (_, Arguments::Two(from, to)) => self.on_two(kind, from, to),
            (_, Arguments::Part(file, span)) => self.write(kind, file, span),
            (_, Arguments::Allocation(file, how, span)) => {
                self.open(file);
                self.fill(file);
                let range = self.falloc_range(file, span);
                self.calls.push(Call::Falloc(file.path(), how, range));
            }
            (_, Arguments::Size(file, to)) => {
                self.open(file);
                self.fill(file);
                if to == Size::Aligned {
                    self.size[file.number()] = Some(0);
                }
                self.calls.push(Call::Truncate(file.path(), if to == Size::Aligned { 0 } else { SHORT }));
            }
        }
    }

    fn on_one(&mut self, kind: Kind, name: Name) {
        let path = name.path();
        match kind {
            Kind::Creat => {
                if self.status(name) != Status::Absent {
                    self.unlink(name);
                }
                self.set(name, Status::Open);
                self.calls.push(Call::Open(path, OPEN_FILE, MODE));
            }
            Kind::Unlink | Kind::Remove => {
                self.open(name);
                self.close(name);
                self.unlink(name);
            }
            Kind::Fsetxattr => {
                self.open(name);
                self.calls.push(Call::Fsetxattr(path));
            }
            Kind::Removexattr => {
                self.open(name);
                self.calls.extend([Call::Fsetxattr(path.clone()), Call::Removexattr(path)]);
            }
            _ => {
                self.open(name);
                self.calls.push(Call::Fdatasync(path));
            }
        }
    }

    fn on_two(&mut self, kind: Kind, from: Name, to: Name) {
        self.open(from);
        if kind == Kind::Link {
            self.close(to);
            if self.status(to) == Status::Closed {
                self.unlink(to);
            }
            self.set(to, Status::Closed);
            self.calls.push(Call::Link(from.path(), to.path()));
            return;
        }
        self.close(from);
        if !to.is_directory() {
            self.close(to);
        }
        self.set(from, Status::Absent);
        self.set(to, Status::Closed);
        self.calls.push(Call::Rename(from.path(), to.path()));
    }

    fn write(&mut self, kind: Kind, file: Name, span: Span) {
        self.open(file);
        if span != Span::Append {
            self.fill(file);
        }
        let size = self.size[file.number()].unwrap_or(0);
        let range = range(span, size);
        if span == Span::Append {
            self.size[file.number()] = Some(size + APPEND);
        }
        let path = file.path();
        match kind {
            Kind::Dwrite => {
                self.calls.push(Call::Dwrite(path, range));
                // It is closed by the call itself.
                self.set(file, Status::Closed);
            }
            Kind::Mmapwrite => self.calls.push(Call::Mmapwrite(path, range)),
            _ => self.calls.push(Call::Write(path, range)),
        }
    }

    fn falloc_range(&mut self, file: Name, span: Span) -> Range {
        let size = self.size[file.number()].unwrap_or(0);
        let range = range(span, size);
        let grown = match span {
            Span::Append => APPEND,
            Span::Extend => UNALIGNED - THERE,
            Span::UnalignedStart | Span::Start => 0,
        };
        self.size[file.number()] = Some(size + grown);
        range
    }

    /// The directories above exist.
    fn parent(&mut self, name: Name) {
        let parent = name.parent();
        if self.status(parent) == Status::Absent {
            self.parent(parent);
            self.make(parent);
        }
    }

    fn make(&mut self, directory: Name) {
        self.set(directory, Status::Closed);
        self.calls.push(Call::Mkdir(directory.path(), MODE));
    }

    /// It exists and is open.
    fn open(&mut self, name: Name) {
        if self.status(name) == Status::Open {
            return;
        }
        if name.is_directory() {
            if self.status(name) == Status::Absent {
                self.make(name);
            }
            self.calls.push(Call::OpenDir(name.path()));
        } else {
            self.calls.push(Call::Open(name.path(), OPEN_FILE, MODE));
        }
        self.set(name, Status::Open);
    }

    fn close(&mut self, name: Name) {
        if self.status(name) == Status::Open {
            self.set(name, Status::Closed);
            self.calls.push(Call::Close(name.path()));
        }
    }

    fn unlink(&mut self, name: Name) {
        self.set(name, Status::Absent);
        self.calls.push(Call::Unlink(name.path()));
    }

    /// It has had bytes.
    fn fill(&mut self, file: Name) {
        if self.size[file.number()].is_none() {
            self.size[file.number()] = Some(APPEND);
            self.calls.push(Call::Write(file.path(), Range { offset: 0, len: APPEND }));
        }
    }

    /// A directory is made; if it is there, it is removed first with all that is in it.
    fn mkdir(&mut self, directory: Name) {
        if self.status(directory) != Status::Absent {
            self.remove(directory);
        }
        self.make(directory);
    }

    fn remove(&mut self, directory: Name) {
        for name in ALL.into_iter().filter(|name| name.parent() == directory) {
            if self.status(name) != Status::Absent {
                self.close(name);
                if name == C { self.remove(name) } else { self.unlink(name) }
            }
        }
        self.set(directory, Status::Absent);
        self.calls.push(Call::Rmdir(directory.path()));
    }
}

fn range(span: Span, size: u64) -> Range {
    match span {
        Span::Append => Range { offset: size, len: APPEND },
        Span::UnalignedStart => Range { offset: 0, len: UNALIGNED },
        // Of a file that was cut to nothing, this begins before its first byte.
        Span::Extend => Range { offset: size.wrapping_sub(THERE), len: UNALIGNED },
        Span::Start => Range { offset: 0, len: START },
    }
}
