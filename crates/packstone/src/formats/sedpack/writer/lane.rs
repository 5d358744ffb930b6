//! One split of a filler: its shards in the making, those that were begun, and those that are stored.

use packstone_container::json::{self, Object, Value};
use packstone_io::{RelPath, RootMut};

use super::super::layout::SHARDS_LIST;
use super::super::parts::list::ShardEntry;
use super::super::parts::names::Names;
use super::super::parts::rotate::Rotation;

/// What a filler has of one split.
pub(super) struct Lane {
    pub(super) split: &'static str,
    pub(super) folder: RelPath,
    pub(super) rotation: Rotation,
    pub(super) names: Names,
    /// Shards that were handed out, stored or not.
    pub(super) begun: Vec<RelPath>,
    pub(super) done: Vec<ShardEntry>,
}

impl Lane {
    /// A line of the journal: the split, and the shard as its list will have it.
    pub(super) fn journal_line(&self, entry: &ShardEntry) -> String {
        let mut line = Object::new();
        line.insert("split", self.split);
        line.insert("shard", entry.to_value());
        let mut text = json::write(&Value::Object(line), &json::Style::COMPACT);
        text.push('\n');
        text
    }

    /// Removes its shards, the lists below its folder, and the folders that are empty then.
    pub(super) fn discard(&self, root: &dyn RootMut) {
        let mut folders = vec![self.folder.clone()];
        for path in &self.begun {
            let _ = root.remove(path);
            let mut folder = path.parent();
            while let Some(here) = folder.filter(|f| !f.is_root()) {
                folder = here.parent();
                if !folders.contains(&here) {
                    folders.push(here);
                }
            }
        }
        folders.sort_by_key(|f| std::cmp::Reverse(f.components().count()));
        for folder in folders {
            if let Ok(list) = folder.join(SHARDS_LIST)
                && folder != self.folder
                && folder.starts_with(&self.folder)
            {
                let _ = root.remove(&list);
            }
            let _ = root.remove_folder(&folder);
        }
    }
}
