"""Turns comments and docstrings into Markdown: paragraphs, code that is indented, names that lead on."""

import html
import re

# `Code` as it is, an option, a file, a call, a string, a name with `::` or `.` in it, or any other word.
WORD = re.compile(r"`[^`]*`|--\w[\w-]+|\b(?:outpace|docs)/[\w-]+\.\w+|"
                  r"[\w:.]*\w\((?:[^()]|\([^()]*\))*\)|\"[^\"\s]*[_*=/.][^\"\s]*\"|"
                  r"\b[A-Za-z]\w*(?:(?:::|\.)\w+)+(?:<>)?|[A-Za-z]\w*(?:<>)?")
IS_CODE = re.compile(r"[`\":()]|^--|\w_|^k[A-Z]|^outpace/|\w\.\w|<>")


def blocks_of(lines, indent="  "):
    """Yields (whether it is code, text). Code is indented, and may have blank lines."""
    block = []
    for line in lines:
        was_code = bool(block) and block[0].startswith(indent)
        if block and (was_code if line and not line.startswith(indent) else
                      not was_code and (not line or line.startswith(indent))):
            yield was_code, text_of(block, was_code, indent)
            block = []
        if line or block:
            block.append(line)
    if block:
        yield block[0].startswith(indent), text_of(block, block[0].startswith(indent), indent)


def text_of(block, is_code, indent):
    if is_code:
        return "\n".join(line[len(indent):] for line in block).rstrip()
    return " ".join(line.strip() for line in block)


def markdown(lines, language, link_of, indent="  "):
    """`link_of(name)`: where a name leads, or None."""
    return "\n\n".join(f"```{language}\n{text}\n```" if is_code else inline(text, link_of)
                       for is_code, text in blocks_of(lines, indent))


def inline(text, link_of):
    """A name is code if it looks like one; it leads to its entry unless it may be a word of English."""
    parts, end = [], 0
    for word in WORD.finditer(text):
        bare = word[0].strip("`")
        is_code = IS_CODE.search(word[0])
        link = link_of(bare.partition("(")[0])
        shown = f"`{bare}`" if is_code or link else bare
        if link and (is_code or re.search(r"[a-z][A-Z]", bare)):
            shown = f"[{shown}]({link})"
        elif not is_code:
            shown = bare
        parts += [plain(text[end:word.start()]), shown]
        end = word.end()
    return "".join([*parts, plain(text[end:])])


def plain(text):
    return html.escape(text, quote=False).replace("*", r"\*")
