//! The page as Markdown: an introduction, then sections with a heading of the second level, which can be found again.

/// A page that is being put together.
#[derive(Debug)]
pub struct Page(String);

impl Page {
    pub fn new(introduction: &str) -> Self {
        Self(introduction.to_owned())
    }

    /// Adds a section; its own headings are of the third level or deeper.
    pub fn push(&mut self, title: &str, section: &str) {
        self.0.extend(["\n## ", title, "\n\n", section.trim(), "\n"]);
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// The section of a page that has this title, without its heading.
pub fn section<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let sections = page.split("\n## ").skip(1);
    sections.filter_map(|section| section.split_once('\n')).find(|(heading, _)| *heading == title).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_found_again_and_can_be_pushed_again_unchanged() {
        let mut page = Page::new("# Page\n");
        page.push("One", "text\n\n### Inner\n\n| a |\n");
        page.push("One more", "other\n");
        let text = page.into_text();
        assert_eq!(text, "# Page\n\n## One\n\ntext\n\n### Inner\n\n| a |\n\n## One more\n\nother\n");
        assert_eq!(section(&text, "Two"), None);
        let mut again = Page::new("# Page\n");
        for title in ["One", "One more"] {
            again.push(title, section(&text, title).unwrap());
        }
        assert_eq!(again.into_text(), text);
    }
}
