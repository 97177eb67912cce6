// Holds every manifest of examples/kubernetes to the schemas of Kubernetes, by kubernetes-models.
//
//   node check_manifests.mjs MODULES MANIFEST...      // MODULES: a node_modules with both packages
//
// A field that no schema reads is refused too: the schemas alone take a name that is misspelt.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, ...files] = process.argv.slice(2);
const load = createRequire(path.resolve(modules, "index.js"));
const { parseAllDocuments } = load("yaml");

// The value, with a note in `read` of each field that anybody looks at.
function watched(value, place, read) {
  if (value === null || typeof value !== "object") {
    return value;
  }
  return new Proxy(value, {
    get(target, key) {
      const found = target[key];
      if (typeof key === "symbol" || !Object.hasOwn(target, key)) {
        return found;
      }
      read.add(`${place}.${key}`);
      return watched(found, `${place}.${key}`, read);
    },
  });
}

// The fields that were not read, but for what is in one of those.
function unread(value, place, read) {
  if (value === null || typeof value !== "object") {
    return [];
  }
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${place}.${key}`;
    return read.has(here) ? unread(inner, here, read) : [here];
  });
}

function errorsOf(manifest) {
  const { apiVersion = "", kind = "" } = manifest ?? {};
  let Kind;
  try {
    Kind = load(`kubernetes-models/${apiVersion}/${kind}`)[kind];
  } catch {
    return [`there is no ${kind} in ${apiVersion} of Kubernetes`];
  }
  const read = new Set(["manifest.apiVersion", "manifest.kind"]);
  try {
    // Not the manifest in the constructor, which would read all of it.
    Kind.prototype.validate.call(watched(manifest, "manifest", read));
  } catch (error) {
    return [error.message];
  }
  return unread(manifest, "manifest", read).map((field) => `${field} is no field of ${kind}`);
}

let wrong = 0;
for (const file of files) {
  const documents = parseAllDocuments(readFileSync(file, "utf8"));
  for (const document of documents) {
    const errors = [...document.errors.map((error) => error.message), ...errorsOf(document.toJS())];
    const name = `${path.basename(file)}: ${document.get("kind")} ${document.getIn(["metadata", "name"])}`;
    console.log(errors.length === 0 ? `ok  ${name}` : `NOT ${name}: ${errors.join("; ")}`);
    wrong += errors.length;
  }
  if (documents.length === 0) {
    console.log(`NOT ${path.basename(file)}: it has no manifest`);
    ++wrong;
  }
}
process.exit(wrong === 0 && files.length > 0 ? 0 : 1);
