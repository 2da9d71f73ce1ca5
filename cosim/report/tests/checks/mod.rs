//! What every page has to be, as a browser's parser sees it.

use std::collections::BTreeSet;

use scraper::{Html, Selector};

/// Reads a page, which is well-formed and needs nothing but itself; its links to files, and the page.
pub fn read(page: &str) -> (Html, Vec<String>) {
    let html = Html::parse_document(page);
    assert_eq!(html.errors, Vec::<String>::new());
    assert!(page.starts_with("<!DOCTYPE html>"));
    let (mut ids, mut links) = (BTreeSet::new(), Vec::new());
    for element in select(&html, "*") {
        let name = element.value().name();
        assert!(
            ![
                "script", "link", "img", "iframe", "object", "embed", "base", "form", "image",
                "use"
            ]
            .contains(&name),
            "<{name}> is of another file, or a program"
        );
        for (attribute, value) in element.value().attrs() {
            match attribute {
                "href" => links.push(value.to_owned()),
                "id" => assert!(ids.insert(value.to_owned()), "two elements are {value}"),
                _ => {
                    let is_foreign = attribute.starts_with("on")
                        || ["src", "srcset", "data", "action", "poster", "background"]
                            .contains(&attribute)
                        || value.contains("url(");
                    assert!(!is_foreign, "<{name} {attribute}={value:?}>");
                }
            }
        }
        if name == "style" {
            let text: String = element.text().collect();
            assert!(
                !text.contains("url(") && !text.contains("@import"),
                "{text}"
            );
        }
    }
    let (inner, files): (Vec<_>, Vec<_>) =
        links.into_iter().partition(|link| link.starts_with('#'));
    for link in inner {
        assert!(ids.contains(&link[1..]), "{link} leads nowhere");
    }
    for file in &files {
        let is_outside =
            file.contains(':') || file.starts_with('/') || file.split('/').any(|part| part == "..");
        assert!(!is_outside && !file.is_empty(), "{file:?} is elsewhere");
    }
    let text = text(&html, "body");
    for nonsense in ["NaN", "inf ", "0 of 0", "0/0", "None", "Some("] {
        assert!(!text.contains(nonsense), "{nonsense}: {text}");
    }
    (html, files)
}

/// The elements that a CSS selector names.
pub fn select<'a>(html: &'a Html, selector: &str) -> Vec<scraper::ElementRef<'a>> {
    html.select(&Selector::parse(selector).unwrap()).collect()
}

/// The text of all that a CSS selector names, with single spaces.
pub fn text(html: &Html, selector: &str) -> String {
    let texts = select(html, selector)
        .into_iter()
        .flat_map(|element| element.text());
    texts
        .collect::<Vec<_>>()
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
