//! Converts the text of an SVG drawing to outlines of an embedded font, which has a regular and a
//! bold face. Letters follow each other without kerning. The drawing's style sheet determines the
//! size, the weight and the alignment.

use anyhow::{Context, Result};
use resvg::usvg::roxmltree::{Document, Node};
use simplecss::{AttributeOperator, PseudoClass, StyleSheet};
use std::fmt::Write;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Regular face of the font. `assets/font/README.md` states the version and the origin of the font.
const REGULAR: &[u8] = include_bytes!("../../assets/font/Roboto-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/font/Roboto-Bold.ttf");

const SVG: &str = "http://www.w3.org/2000/svg";
/// Font size, in pixels, of a text to which no rule of the style sheet applies.
const SIZE_PX: f32 = 12.0;
const BOLD_WEIGHT: u16 = 600;

/// Returns the drawing with a `path` element in place of each `text` element. The path has the
/// classes of the text, and also the class `text`.
///
/// # Errors
/// The drawing is not XML, or a font cannot be read.
pub(super) fn as_paths(svg: &str) -> Result<String> {
    let document = Document::parse(svg).context("read a figure as XML")?;
    let sheets = document.descendants().filter(|node| node.has_tag_name((SVG, "style")));
    let sheet = sheets.filter_map(|node| node.text()).collect::<String>();
    let sheet = StyleSheet::parse(&sheet);
    let regular = Face::parse(REGULAR, 0).context("read the font")?;
    let bold = Face::parse(BOLD, 0).context("read the font")?;
    let mut out = String::with_capacity(svg.len() * 2);
    let mut rest = 0;
    for node in document.descendants() {
        let range = node.range();
        let drawn = if node.has_tag_name((SVG, "text")) {
            let style = Style::from_node(node, &sheet);
            path(node, &style, if style.is_bold { &bold } else { &regular })
        } else if node.is_text() && node.parent().is_some_and(|of| of.has_tag_name((SVG, "style")))
        {
            // The rules for `text` elements must also apply to the paths, so this code replaces the
            // element selector by a class selector.
            svg[range.clone()].replace(" text", " .text")
        } else {
            continue;
        };
        out.push_str(&svg[rest..range.start]);
        out.push_str(&drawn);
        rest = range.end;
    }
    out.push_str(&svg[rest..]);
    Ok(out)
}

struct Style {
    size_px: f32,
    is_bold: bool,
    /// Share (0 to 1) of the text's width that is to the left of the text's position.
    before: f32,
}

impl Style {
    /// Returns the style of an element from the rules that match it. The parser sorts the rules by
    /// specificity, so more specific rules come later and take precedence.
    fn from_node(node: Node, sheet: &StyleSheet) -> Style {
        let mut style = Style {
            size_px: SIZE_PX,
            is_bold: false,
            before: 0.0,
        };
        for rule in sheet.rules.iter().filter(|rule| rule.selector.matches(&Element(node))) {
            for one in &rule.declarations {
                let number = one.value.trim_end_matches("px").parse().ok();
                match one.name {
                    "font-size" => style.size_px = number.unwrap_or(style.size_px),
                    "font-weight" => {
                        style.is_bold =
                            number.is_some_and(|weight| weight >= f32::from(BOLD_WEIGHT));
                    }
                    "text-anchor" => {
                        style.before = match one.value {
                            "end" => 1.0,
                            "middle" => 0.5,
                            _ => 0.0,
                        }
                    }
                    _ => {}
                }
            }
        }
        style
    }
}

/// Returns a `path` element with the outlines of a text. If the font lacks a letter, the path
/// contains the font's glyph for missing letters, an empty box.
fn path(node: Node, style: &Style, face: &Face) -> String {
    let said = node.text().unwrap_or_default();
    let scale = style.size_px / f32::from(face.units_per_em());
    let glyphs: Vec<GlyphId> = said
        .chars()
        .map(|letter| face.glyph_index(letter).unwrap_or_default())
        .collect();
    let advance = |glyph: &GlyphId| f32::from(face.glyph_hor_advance(*glyph).unwrap_or(0)) * scale;
    let width: f32 = glyphs.iter().map(advance).sum();
    let place = |name: &str| node.attribute(name).and_then(|at| at.parse::<f32>().ok());
    let mut outline = Outline {
        data: String::new(),
        x: place("x").unwrap_or(0.0) - width * style.before,
        y: place("y").unwrap_or(0.0),
        scale,
    };
    for glyph in &glyphs {
        face.outline_glyph(*glyph, &mut outline);
        outline.x += advance(glyph);
    }
    let class = node.attribute("class").unwrap_or_default();
    format!("<path class=\"text {class}\" d=\"{}\"/>", outline.data)
}

/// Builder of the path data of glyphs, each at the current position.
struct Outline {
    data: String,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn add(&mut self, command: char, points: &[[f32; 2]]) {
        self.data.push(command);
        for [x, y] in points {
            let (x, y) = (self.x + x * self.scale, self.y - y * self.scale);
            // Writing to a `String` cannot fail.
            let _ = write!(self.data, "{x:.2} {y:.2} ");
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[[x, y]]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[[x, y]]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[[x1, y1], [x, y]]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[[x1, y1], [x2, y2], [x, y]]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}

/// Adapter that applies the selectors of a style sheet to an XML element.
struct Element<'a, 'input>(Node<'a, 'input>);

impl simplecss::Element for Element<'_, '_> {
    fn parent_element(&self) -> Option<Self> {
        self.0.parent_element().map(Element)
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.0.prev_sibling_element().map(Element)
    }

    fn has_local_name(&self, name: &str) -> bool {
        self.0.tag_name().name() == name
    }

    fn attribute_matches(&self, name: &str, operator: AttributeOperator) -> bool {
        self.0.attribute(name).is_some_and(|value| operator.matches(value))
    }

    fn pseudo_class_matches(&self, _: PseudoClass) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the left edge, the right edge and the height of the outlines of a text, in pixels.
    fn extent(class: &str, said: &str) -> [f32; 3] {
        let svg = format!(
            "<svg xmlns=\"{SVG}\" class=\"glance\"><style>.glance text{{font-size: 12px}} .glance \
             .small{{font-size: 6px}} .glance .heavy{{font-weight: 600}} .glance .end{{text-anchor:\
             end}} .glance .middle{{text-anchor: middle}}</style><text class=\"{class}\" x=\"50\" \
             y=\"20\">{said}</text></svg>"
        );
        let drawn = as_paths(&svg).unwrap();
        assert!(
            drawn.contains(".glance .text{") && !drawn.contains("<text"),
            "{drawn}"
        );
        let data = drawn.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
        let numbers: Vec<f32> = data
            .split(|letter: char| letter.is_ascii_uppercase() || letter == ' ')
            .filter(|number| !number.is_empty())
            .map(|number| number.parse().unwrap())
            .collect();
        let of = |at: usize| numbers.iter().skip(at).step_by(2).copied();
        [
            of(0).fold(f32::MAX, f32::min),
            of(0).fold(f32::MIN, f32::max),
            of(1).fold(f32::MIN, f32::max) - of(1).fold(f32::MAX, f32::min),
        ]
    }

    #[test]
    fn a_text_has_the_anchor_size_and_weight_of_its_class() {
        let [left, right, height] = extent("", "HHHH");
        let width = right - left;
        assert!(
            (50.0..52.0).contains(&left) && (8.0..9.0).contains(&height),
            "{left} {height}"
        );
        let [_, right, _] = extent("end", "HHHH");
        assert!((48.0..=50.0).contains(&right), "{right}");
        let [left, right, _] = extent("middle", "HHHH");
        assert!((left + right - 100.0).abs() < 1.0, "{left} to {right}");
        let [left, right, small] = extent("small", "HHHH");
        assert!((small * 2.0 - height).abs() < 0.1 && ((right - left) * 2.0 - width).abs() < 0.1);
        let [left, right, _] = extent("heavy", "HHHH");
        assert!(right - left > width, "bold letters are wider");
    }

    #[test]
    fn entities_are_letters_and_what_the_font_lacks_is_a_box() {
        assert_eq!(extent("", "&lt;"), extent("", "<![CDATA[<]]>"));
        assert!(extent("", "文")[2] > 5.0);
    }
}
