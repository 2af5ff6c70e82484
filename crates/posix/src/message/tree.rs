//! A tree as it travels: a list of nodes, contents as runs of equal bytes.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use vfs::{Node, NodeId, NodeKind, Runs, Special, Tree};

#[derive(Serialize, Deserialize)]
struct Form {
    root: u32,
    nodes: Vec<NodeForm>,
}

#[derive(Serialize, Deserialize)]
struct NodeForm {
    id: u32,
    kind: KindForm,
    mode: u32,
    owner: (u32, u32),
    nlink: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    xattrs: BTreeMap<Arc<str>, Vec<(usize, u8)>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindForm {
    File(Vec<(usize, u8)>),
    Dir(BTreeMap<Arc<str>, u32>),
    Symlink(Arc<str>),
    Special(Special),
}

pub(super) fn serialize<S: Serializer>(tree: &Tree, serializer: S) -> Result<S::Ok, S::Error> {
    let nodes = tree.nodes.iter().map(|(id, node)| node_form(*id, node)).collect();
    Form { root: tree.root.0, nodes }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
    let form = Form::deserialize(deserializer)?;
    let nodes: Option<BTreeMap<_, _>> = form.nodes.into_iter().map(node).collect();
    let nodes = nodes.ok_or_else(|| D::Error::custom("contents are longer than a message can be about"))?;
    Ok(Tree { root: NodeId(form.root), nodes: Arc::new(nodes) })
}

fn node_form(id: NodeId, node: &Node) -> NodeForm {
    let kind = match &node.kind {
        NodeKind::File(bytes) => KindForm::File(runs(bytes)),
        NodeKind::Dir(entries) => KindForm::Dir(entries.iter().map(|(name, child)| (name.clone(), child.0)).collect()),
        NodeKind::Symlink(target) => KindForm::Symlink(target.clone()),
        NodeKind::Special(special) => KindForm::Special(*special),
    };
    let xattrs = node.xattrs.iter().map(|(name, value)| (name.clone(), runs(value))).collect();
    NodeForm { id: id.0, kind, mode: node.mode, owner: (node.uid, node.gid), nlink: node.nlink, xattrs }
}

/// `None`: more bytes than any observer sends.
fn node(form: NodeForm) -> Option<(NodeId, Arc<Node>)> {
    let kind = match form.kind {
        KindForm::File(runs) => NodeKind::File(bytes(&runs)?.into()),
        KindForm::Dir(entries) => NodeKind::Dir(entries.into_iter().map(|(name, id)| (name, NodeId(id))).collect()),
        KindForm::Symlink(target) => NodeKind::Symlink(target),
        KindForm::Special(special) => NodeKind::Special(special),
    };
    let xattrs: Option<_> = form.xattrs.into_iter().map(|(name, runs)| Some((name, bytes(&runs)?))).collect();
    let (uid, gid) = form.owner;
    Some((NodeId(form.id), Arc::new(Node { kind, mode: form.mode, uid, gid, nlink: form.nlink, xattrs: xattrs? })))
}

fn runs(bytes: &[u8]) -> Vec<(usize, u8)> {
    Runs(bytes).iter().collect()
}

/// A few words can claim any number of bytes; more than this is no file that was observed.
const BYTES_MAX: usize = 1 << 26;

fn bytes(runs: &[(usize, u8)]) -> Option<Arc<[u8]>> {
    let len = runs.iter().try_fold(0_usize, |sum, (len, _)| sum.checked_add(*len))?;
    if len > BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::with_capacity(len);
    runs.iter().for_each(|(len, fill)| bytes.resize(bytes.len() + len, *fill));
    Some(bytes.into())
}
