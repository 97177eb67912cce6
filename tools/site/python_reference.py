"""Writes the reference of the Python package from its sources, without importing them.

A module's `__all__` says what is public. Words are docstrings and, for fields and values, the comments
behind them: they have the meaning of a Group's numbers, for example.
"""

import ast
import functools
import pathlib
import re

import prose

PACKAGE = pathlib.Path("python")
MODULES = ("outpace", "outpace.torch")
OWN_TYPES = re.compile(r"\b_[a-z]\w*\.")  # Types of private modules: nobody else calls such a thing.
LINE = 72  # A longer signature has a line for each argument.


def file_of(module, root):
    path = root / PACKAGE / pathlib.Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class Module:
    """A parsed module: its public names, and where each is defined."""

    def __init__(self, name, root):
        self.name, self.root = name, root
        self.text = file_of(name, root).read_text()
        self.lines = self.text.splitlines()
        self.tree = ast.parse(self.text)

    def public(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                return ast.literal_eval(node.value)
        raise ValueError(f"{self.name} has no __all__")

    def definition(self, name):
        """(module, node) of a name, wherever this module has it from."""
        for node in self.tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                return self, node
            if isinstance(node, ast.ImportFrom) and name in [one.name for one in node.names]:
                return module_of(node.module, self.root).definition(name)
        raise ValueError(f"{self.name} does not define {name}")

    def comment(self, node):
        """Behind the line in which a statement ends, and above if the lines there are comments."""
        above, line = [], node.lineno - 2
        while re.match(r"\s*# ", self.lines[line]):
            above.insert(0, re.sub(r"\s*# ", "", self.lines[line], count=1))
            line -= 1
        behind = re.search(r"  # (.*)", self.lines[node.end_lineno - 1])
        return " ".join(above + ([behind[1]] if behind else []))


@functools.cache
def module_of(name, root):
    return Module(name, root)


class Writer:
    """The page of a module. `places`: {name: (module, anchor)} of what has an entry somewhere."""

    def __init__(self, name, root, places):
        self.module, self.places = module_of(name, root), places

    def page(self):
        parts = [f"# {self.module.name}", self.prose(ast.get_docstring(self.module.tree), None)]
        for name in sorted(self.module.public(), key=lambda name: (name[0].islower(), name)):
            home, node = self.module.definition(name)
            parts += self.class_(home, node) if isinstance(node, ast.ClassDef) else (
                self.function(node, None))
        return "\n\n".join(part for part in parts if part) + "\n"

    def class_(self, home, node):
        yield f"## class {node.name} {{#{node.name.lower()}}}"
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        for one in methods:
            if one.name == "__init__" and is_called(node, one):
                yield f"```python\n{signature(one, node.name)}\n```"
        yield self.prose(ast.get_docstring(node), node)
        yield "\n".join(self.field(*one, node) for one in fields(home, node))
        for one in methods:
            if not one.name.startswith("_"):
                yield from self.function(one, node)

    def function(self, node, above):
        is_value = any(getattr(one, "id", "") == "property" for one in node.decorator_list)
        title = node.name if is_value else f"{node.name}()"
        yield f"{'###' if above else '##'} {title} {{#{anchor_of(node, above)}}}"
        if is_value:
            yield f"```python\n{node.name}: {shown(node.returns)}\n```"
        else:
            yield f"```python\n{signature(node, node.name)}\n```"
        yield self.prose(ast.get_docstring(node), above)

    def field(self, name, written, text, above):
        said = prose.inline(text, lambda one: self.link_of(one, above))
        return f"- `{written}`" + (f"<br>{said}" if said else "")

    def prose(self, text, above):
        return prose.markdown((text or "").splitlines(), "python",
                              lambda name: self.link_of(name, above), "    ")

    def link_of(self, name, above):
        """Where the name leads that is said of the class `above`, or of what is in it."""
        up = "../" * (self.module.name.count(".") + 2)
        if name.startswith("docs/"):
            return up + name
        name = re.sub(r"^job\.", "Job.", re.sub(r"^outpace\.(torch\.)?", "", name))
        place = self.places.get(f"{above.name}.{name}" if above else name) or self.places.get(name)
        if not place or above and place[1] == above.name.lower():
            return None
        if place[0] == self.module.name:
            return f"#{place[1]}"
        return f"{up}{page_of(place[0])}#{place[1]}"


def is_called(node, constructor):
    """Whether users make such a thing themselves."""
    bases = [ast.unparse(base) for base in node.bases]
    return "abc.ABC" not in bases and not OWN_TYPES.search(ast.unparse(constructor.args))


def page_of(module):
    return pathlib.Path(PACKAGE, *module.split("."), "__init__.py.md")


def anchor_of(node, above):
    return f"{above.name}-{node.name}".lower() if above else node.name.lower()


def shown(annotation):
    """A type as it is written, without the quotes of one that is known later."""
    return ast.unparse(annotation).strip("'") if annotation else "Any"


def signature(node, name):
    """A call of the function, with its types and defaults."""
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(listed) - len(arguments.defaults)) + arguments.defaults
    words = [argument(one, default) for one, default in zip(listed, defaults) if one.arg != "self"]
    if arguments.vararg:
        words.append("*" + argument(arguments.vararg, None))
    elif arguments.kwonlyargs:
        words.append("*")
    words += [argument(one, default) for one, default in zip(arguments.kwonlyargs,
                                                            arguments.kw_defaults)]
    answer = f" -> {shown(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({', '.join(words)}){answer}"
    if len(line) <= LINE:
        return line
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){answer}"


def argument(one, default):
    kind = f": {shown(one.annotation)}" if one.annotation else ""
    return one.arg + kind + (f" = {ast.unparse(default)}" if default is not None else "")


def fields(home, node):
    """Yields (name, as it is written, comment) of a class's values, and of those its objects have."""
    for one in node.body:
        if isinstance(one, (ast.Assign, ast.AnnAssign)):
            target = one.target if isinstance(one, ast.AnnAssign) else one.targets[0]
            if not target.id.startswith("_"):
                yield target.id, ast.unparse(one), home.comment(one)
        elif isinstance(one, ast.FunctionDef) and one.name == "__init__":
            for inner in one.body:
                target = getattr(inner, "target", None) or (getattr(inner, "targets", None) or [None])[0]
                if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                    kind = getattr(inner, "annotation", None)
                    yield (target.attr, target.attr + (f": {shown(kind)}" if kind else ""),
                           home.comment(inner))


def all_places(root, first):
    """{name, and class.name: (module, anchor)}; a name of several modules leads to the first one's."""
    found = {}
    for module in [module_of(name, root) for name in sorted(MODULES, key=lambda one: one != first)]:
        for name in module.public():
            _, node = module.definition(name)
            found.setdefault(name, (module.name, name.lower()))
            for one in getattr(node, "body", []) if isinstance(node, ast.ClassDef) else []:
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                    found.setdefault(f"{name}.{one.name}", (module.name, anchor_of(one, node)))
    return found


def pages(root):
    """{file of a module: function that returns its page}"""
    return {file_of(name, root).relative_to(root):
            lambda name=name: Writer(name, root, all_places(root, name)).page() for name in MODULES}
