//! The JSON form of ops: one flat object, with the keys of the text form.
//!
//! `{"op":"write","file":"/a/f","offset":4096,"len":512,"fill":2}` stores through a path,
//! `{"op":"write","fd":1,"at":"end","len":4,"fill":7,"via":"mmap"}` through a slot. Modes are strings in octal
//! (`"mode":"0644"`), open flags are their names (`"flags":"O_CREAT|O_RDWR"`). What has its default is left out. An
//! unknown op or key is an error: a trace that is read wrongly is worse than one that is refused.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{
    Op,
    form::{self, Arg},
};

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arguments = form::arguments(self);
        let mut map = serializer.serialize_map(Some(arguments.len() + 1))?;
        map.serialize_entry("op", self.name())?;
        for (key, arg) in &arguments {
            map.serialize_entry(key, arg)?;
        }
        map.end()
    }
}

impl Serialize for Arg {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) | Self::Word(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_u64(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OpVisitor)
    }
}

struct OpVisitor;

impl<'de> Visitor<'de> for OpVisitor {
    type Value = Op;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an op, such as {\"op\":\"unlink\",\"path\":\"/f\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Op, A::Error> {
        let mut name: Option<String> = None;
        let mut given = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "op" && name.is_none() {
                name = Some(map.next_value()?);
            } else {
                given.push((key, map.next_value()?));
            }
        }
        let name = name.ok_or_else(|| A::Error::missing_field("op"))?;
        let kind = form::kind_named(&name).map_err(A::Error::custom)?;
        form::build(kind, given).map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgVisitor)
    }
}

struct ArgVisitor;

impl Visitor<'_> for ArgVisitor {
    type Value = Arg;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a whole number that is not negative")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Arg, E> {
        Ok(Arg::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Arg, E> {
        Ok(Arg::Number(number))
    }
}

/// Bytes as runs of equal bytes: what was read is mostly long fills, which nobody wants to see byte by byte.
pub(crate) mod runs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::Data;

    /// A trace may come from anywhere; one that claims to have read more than this is refused rather than believed
    /// and allocated.
    const BYTES_MAX: u64 = 1 << 30;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let run = |run: &[u8]| Data { len: run.len() as u64, fill: run[0] };
        bytes.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let mut bytes = Vec::new();
        for run in Vec::<Data>::deserialize(deserializer)? {
            let end = run.len.checked_add(bytes.len() as u64).filter(|end| *end <= BYTES_MAX);
            let end = end.and_then(|end| usize::try_from(end).ok());
            bytes.resize(end.ok_or_else(|| D::Error::custom("more bytes than a read returns"))?, run.fill);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Op, Value};

    fn error(json: &str) -> String {
        serde_json::from_str::<Op>(json).unwrap_err().to_string()
    }

    #[test]
    fn the_documented_form_is_the_form() {
        let cases = [
            (
                "write(fd=1, at=end, len=4, fill=7, via=mmap)",
                r#"{"op":"write","fd":1,"at":"end","len":4,"fill":7,"via":"mmap"}"#,
            ),
            (r#"create("/f", mode=0644)"#, r#"{"op":"create","path":"/f","mode":"0644"}"#),
            (
                r#"open("/f", O_CREAT|O_RDWR|0x800, mode=04755, fd=1)"#,
                r#"{"op":"open","path":"/f","flags":"O_CREAT|O_RDWR|0x800","mode":"04755","fd":1}"#,
            ),
            (r#"chown("/f", gid=5)"#, r#"{"op":"chown","path":"/f","gid":5}"#),
            (r#"rename("/a", "/b", how=exchange)"#, r#"{"op":"rename","from":"/a","to":"/b","how":"exchange"}"#),
            ("crash()", r#"{"op":"crash"}"#),
        ];
        for (text, json) in cases {
            let op: Op = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&op).unwrap(), json);
            assert_eq!(serde_json::from_str::<Op>(json).unwrap(), op);
            assert_eq!(op.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let cases = [
            (r#"{"op":"unlnik","path":"/f"}"#, "there is no op \"unlnik\"; the nearest is \"unlink\""),
            (r#"{"op":"unlink"}"#, "unlink needs an argument `path`"),
            (r#"{"op":"unlink","path":"/f","mode":1}"#, "unlink takes no argument `mode` here"),
            (r#"{"op":"unlink","path":"/f","path":"/g"}"#, "unlink takes no argument `path` here"),
            (r#"{"op":"unlink","path":"f"}"#, "`path` of unlink must be a path in quotes that starts with '/'"),
            (
                r#"{"op":"unlink","path":"/f\u0000"}"#,
                "`path` of unlink must be a path without a zero byte, at which it would end",
            ),
            (r#"{"op":"close","fd":256}"#, "`fd` of close must be a number from 0 to 255"),
            (r#"{"op":"close","fd":-1}"#, "expected a string or a whole number that is not negative"),
            (r#"{"path":"/f"}"#, "missing field `op`"),
            (r#"{"op":"write","fd":0,"file":"/f","at":"end","len":1,"fill":1}"#, "write takes no argument `file` here"),
            (r#""sync""#, "expected an op, such as"),
        ];
        for (json, part) in cases {
            assert!(error(json).contains(part), "{json}: {}", error(json));
        }
    }

    #[test]
    fn bytes_are_runs_and_no_bomb() {
        let value = Value::Bytes([vec![2; 512], vec![0; 3], vec![1]].concat());
        let json = r#"{"bytes":[{"len":512,"fill":2},{"len":3,"fill":0},{"len":1,"fill":1}]}"#;
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), value);
        assert!(serde_json::from_str::<Value>(r#"{"bytes":[{"len":18446744073709551615,"fill":2}]}"#).is_err());
        assert_eq!(serde_json::from_str::<Value>(r#"{"bytes":[]}"#).unwrap(), Value::Bytes(vec![]));
    }
}
