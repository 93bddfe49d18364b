import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entries } from "../packages/cli-workflow/src/program/catalogue.ts";
import { exitCodes } from "../packages/cli-workflow/src/output/exit-code.ts";
import { head, tail } from "../bench/page.ts";
import manifest from "../package.json";
import { files, lineAt, top } from "./source.ts";

type Doc = { path: string; text: string };

const docs: Doc[] = ["*.md", "docs/**/*.md"].flatMap(files).map((path) => ({
  path,
  text: readFileSync(join(top, path), "utf8"),
}));

/** Folders to which a path in a document may be relative. */
const bases = ["", "packages/workflow/src", "packages/workflow", "packages/cli-workflow/src"];

/** README of each package. Paths in it are relative to the package. */
const readmes: Doc[] = files("packages/*/package.json").map((of) => {
  const path = join(dirname(of), "README.md");
  return { path, text: existsSync(join(top, path)) ? readFileSync(join(top, path), "utf8") : "" };
});

const isPath =
  /^(?:(?:packages|apps|docs|rfcs|examples|bench|scripts|test|\.ci)\/[\w./-]*|[\w.-]+\/[\w./-]+\.(?:ts|mjs|md|json|toml))$/;

/** Returns the matches of a pattern's first group in every document, with their positions. */
function named(pattern: RegExp): { doc: Doc; at: string; word: string }[] {
  return docs.flatMap((doc) =>
    [...doc.text.matchAll(pattern)].map((match) => ({
      doc,
      at: `${doc.path}:${lineAt(doc.text, match.index)}`,
      word: match[1] ?? "",
    })),
  );
}

/** Yields code blocks and code spans. Skips prose, in which a command's name may be an ordinary word. */
function* codeOf({ text }: Doc): Generator<{ offset: number; code: string }> {
  for (const match of text.matchAll(/```[^\n]*\n([\s\S]*?)```|`([^`\n]+)`/g)) {
    const code = match[1] ?? match[2] ?? "";
    yield { offset: match.index + match[0].indexOf(code), code };
  }
}

/** Returns the anchors of a document's headings, as GitHub generates them. */
function anchorsOf(path: string): Set<string> {
  const text = existsSync(join(top, path)) ? readFileSync(join(top, path), "utf8") : "";
  const headings = text.replaceAll(/```[\s\S]*?```/g, "").matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("no document or example uses npx with an unpublished name", () => {
  const texts = ["*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/*.{md,ts,js}"];
  const templates = "packages/cli-workflow/src/project/template/**/*.template";
  const found = [...texts, templates]
    .flatMap(files)
    .filter((path) => readFileSync(join(top, path), "utf8").includes("npx uncaged-workflow"));
  expect(found).toEqual([]);
});

function namedInCode(pattern: RegExp): { at: string; word: string }[] {
  return docs.flatMap((doc) =>
    [...codeOf(doc)].flatMap(({ offset, code }) =>
      [...code.matchAll(pattern)].map((match) => ({
        at: `${doc.path}:${lineAt(doc.text, offset + match.index)}`,
        word: match[1] ?? "",
      })),
    ),
  );
}

describe("the documents", () => {
  test("exist", () => {
    expect(docs.map(({ path }) => path)).toContain("CONTRIBUTING.md");
  });

  test("name only files that exist", () => {
    const missing = named(/`([^`\s]+)`/g)
      .filter(({ word }) => isPath.test(word))
      .filter(({ word }) => !bases.some((base) => existsSync(join(top, base, word))));
    expect(missing.map(({ at, word }) => `${at} ${word}`)).toEqual([]);
  });

  test("link only to files that exist", () => {
    const dead = named(/\]\(([^)\s]+)\)/g)
      .filter(({ word }) => !/^(?:[a-z]+:|#)/.test(word))
      .filter(({ doc, word }) => {
        const path = word.replace(/[#?].*$/, "");
        return !existsSync(join(top, dirname(doc.path), path));
      });
    expect(dead.map(({ at, word }) => `${at} ${word}`)).toEqual([]);
  });

  test("link only to headings that exist", () => {
    const dead = named(/\]\(([^)\s]*#[^)\s]+)\)/g)
      .filter(({ word }) => !/^[a-z]+:/.test(word))
      .filter(({ doc, word }) => {
        const [path = "", anchor = ""] = word.split("#");
        const target = path === "" ? doc.path : join(dirname(doc.path), path);
        return target.endsWith(".md") && !anchorsOf(target).has(anchor);
      });
    expect(dead.map(({ at, word }) => `${at} ${word}`)).toEqual([]);
  });

  test("name only commands that exist", () => {
    const commands = new Set([...entries.map(({ name }) => name), "help"]);
    const unknown = namedInCode(/(?:^|[\s$])uncaged-workflow ([a-z_]+)/g);
    const wrong = unknown.filter(({ word }) => !commands.has(word));
    expect(wrong.map(({ at, word }) => `${at} ${word}`)).toEqual([]);
  });

  test("name only scripts that package.json has", () => {
    const scripts = new Set(Object.keys(manifest.scripts));
    const wrong = namedInCode(/(?:bun|npm) run ([a-z][\w:-]*)/g).filter(
      ({ word }) => !scripts.has(word),
    );
    expect(wrong.map(({ at, word }) => `${at} ${word}`)).toEqual([]);
  });
});

describe.each(readmes)("$path", ({ path, text }) => {
  const folder = join(top, dirname(path));
  const paths = [...text.matchAll(/`(?:\.\/)?((?:src|test|bench|schema|bin)\/[\w./-]+)`/g)].map(
    ([, word = ""]) => word,
  );

  test("explains each folder of its sources", () => {
    const folders = readdirSync(join(folder, "src"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);
    expect(folders.filter((each) => !paths.some((word) => word.startsWith(each)))).toEqual([]);
  });

  test("names only files that exist", () => {
    expect(paths.filter((word) => !existsSync(join(folder, word)))).toEqual([]);
  });
});

test("the guide to the command line lists exactly the exit codes of the program", () => {
  const guide = docs.find(({ path }) => path === "docs/reference/command-line.md")?.text ?? "";
  const table = /### Exit codes\n([\s\S]*?)\n\n[^|\n]/.exec(guide)?.[1] ?? "";
  const codes = [...table.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(codes).toEqual(Object.values(exitCodes));
});

test("the lock file names no registry", () => {
  expect(readFileSync(join(top, "bun.lock"), "utf8")).not.toMatch(/https?:/);
});

test("the repository has no registry settings and no other package manager's lock file", () => {
  const strays = [".npmrc", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"];
  expect(strays.filter((name) => existsSync(join(top, name)))).toEqual([]);
});

test("docs/explanation/performance.md equals the output of `bun run bench --markdown`", () => {
  const page = readFileSync(join(top, "docs/explanation/performance.md"), "utf8");
  expect(page).toStartWith(head);
  expect(page).toEndWith(tail);
});
