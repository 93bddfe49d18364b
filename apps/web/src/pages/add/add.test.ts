import { describe, expect, test } from "bun:test";
import { mostOf } from "../../../../../packages/server/src/guard/body.ts";
import { checkFiles, mostFiles } from "../../../../../packages/server/src/routes/upload.ts";
import { ApiError } from "../../lib/request.ts";
import { chosenFiles } from "./drop-zone.tsx";
import { problemsOf } from "./add-page.tsx";
import {
  candidatesOf,
  isRead,
  kindOf,
  most,
  nameFor,
  refusalOf,
  sentNameOf,
  suggestedName,
  uploadOf,
  workflowAmong,
} from "./files.ts";

describe("a file", () => {
  test.each([
    ["review.esm.js", "bundle", "review"],
    ["My Review (2).ts", "source", "my-review-2"],
    ["flow.json", "steps", "flow"],
    ["flow.YAML", "steps", "flow"],
    ["types.d.ts", null, "types.d"],
    ["notes.txt", null, "notes.txt"],
  ])("%s is a %s and suggests the name %s", (file, kind, name) => {
    expect(kindOf(file)).toBe(kind as ReturnType<typeof kindOf>);
    expect(nameFor(file)).toBe(name);
  });

  test("is sent under a plain name", () => {
    expect(sentNameOf("My Review.ts")).toBe("My-Review.ts");
    expect(sentNameOf("../.x.ts")).toBe("x.ts");
  });
});

describe("the workflow among several files", () => {
  test.each([
    [["greet.ts"], "greet.ts"],
    [["flow/a.ts", "flow/workflow.ts", "flow/index.ts"], "flow/workflow.ts"],
    [["flow/a.ts", "flow/index.ts", "flow/lib/workflow.ts"], "flow/index.ts"],
    [["flow/a.ts", "flow/flow.ts"], "flow/flow.ts"],
    [["flow/a.ts", "flow/lib/b.ts", "flow/lib/c.ts"], "flow/a.ts"],
    [["flow/a.ts", "flow/words.json", "flow/package.json"], "flow/a.ts"],
    [["flow/main.json", "flow/parts/child.json"], "flow/main.json"],
    [["main.json", "package.json", "tsconfig.json", "lib/ask.js"], "main.json"],
    [["a.ts", "b.ts"], null],
    [["a.json", "b.yaml"], null],
    [["lib/a.ts", "src/b.ts"], null],
    [["notes.txt", "a.d.ts"], null],
    [[], null],
  ])("among %j is %s", (paths, workflow) => {
    expect(workflowAmong(paths)).toBe(workflow);
  });

  test("is chosen among candidates, starting at the top level", () => {
    const paths = ["f/lib/b.ts", "f/z.ts", "f/a.json", "f/package.json", "f/x.d.ts", "f/y.js"];
    expect(candidatesOf(paths)).toEqual(["f/a.json", "f/z.ts", "f/lib/b.ts"]);
  });

  test("has its folder's name if its own is too general", () => {
    const paths = ["My Flow/workflow.ts", "flow/index.ts", "flow/ask.ts", "index.ts"];
    expect(paths.map(suggestedName)).toEqual(["my-flow", "flow", "ask", "index"]);
  });
});

describe("an upload", () => {
  const file = (path: string, text = "x") => [path, new File([text], path)] as const;
  const sent = (workflow: string, ...paths: string[]) => {
    const upload = uploadOf(new Map(paths.map((path) => file(path))), workflow);
    return [upload.workflow, [...upload.files.keys()]];
  };

  test("is every file by its path, but one plain name for a single file or a bundle", () => {
    expect(sent("f/a.ts", "f/a.ts", "f/b c.ts")).toEqual(["f/a.ts", ["f/a.ts", "f/b c.ts"]]);
    expect(sent("f/my flow.ts", "f/my flow.ts")).toEqual(["my-flow.ts", ["my-flow.ts"]]);
    expect(sent("a.esm.js", "a.esm.js", "b.ts")).toEqual(["a.esm.js", ["a.esm.js"]]);
  });

  test("has importable files, without node_modules and .git", () => {
    const names = [
      "a.ts",
      "b.JSON",
      "c.md",
      "logo.png",
      "node_modules/z.ts",
      ".git/a.txt",
      "d.cjs",
    ];
    const { files, others } = chosenFiles(
      names.map((path) => Object.assign(new File([], path), { webkitRelativePath: `f/${path}` })),
    );
    expect([...files.keys()]).toEqual(["f/a.ts", "f/b.JSON", "f/c.md", "f/d.cjs"]);
    expect(others).toEqual(["f/logo.png"]);
  });

  test("respects the limits of size and number", () => {
    const many = Array.from({ length: 1_001 }, (_, n) => file(`${n}.ts`));
    expect(refusalOf(new Map(many.slice(1)))).toBeNull();
    expect(refusalOf(new Map(many))).toContain("More than 1,000 files");
    expect(refusalOf(new Map([file("a.ts", "x".repeat(33 << 20))]))).toContain("32 MB");
  });
});

const refusal = (message: string, details?: string[]) =>
  new ApiError(400, { code: "BUNDLE_REFUSED", message, hint: null, details });

describe("a problem of a file", () => {
  test("has a line and a column, in order", () => {
    const error = refusal("a.ts:9:1: late, and 1 more", ["a.ts:9:1: late", "a.ts:2:14: early"]);
    expect(problemsOf(error, ["a.ts"])).toEqual([
      { file: "a.ts", line: 2, column: 14, message: "early" },
      { file: "a.ts", line: 9, column: 1, message: "late" },
    ]);
  });

  test("may have no position", () => {
    expect(problemsOf(refusal("it is too big"), ["a.ts"])).toEqual([
      { file: null, line: null, column: null, message: "it is too big" },
    ]);
    expect(problemsOf(refusal("a.ts: it ends at once"), ["a.ts"])).toMatchObject([
      { file: "a.ts", line: null, message: "it ends at once" },
    ]);
  });

  test("names its file", () => {
    const error = refusal("x", ["lib/a.ts:3:1: late", "a.ts:2:1: early", "b.ts:1:1: elsewhere"]);
    expect(problemsOf(error, ["a.ts", "lib/a.ts"]).map(({ file, line }) => [file, line])).toEqual([
      [null, null],
      ["a.ts", 2],
      ["lib/a.ts", 3],
    ]);
  });
});

test("the page skips the files that the server refuses, up to the same limit", () => {
  expect(most).toEqual({
    files: mostFiles,
    bytes: mostOf(new Request("http://localhost/api/workflows/new", { method: "POST" })),
  });
  for (const path of ["node_modules/zod/index.ts", ".git/hooks.ts"]) {
    expect(isRead(path)).toBe(false);
    expect(() => checkFiles(new Map([[path, ""]]), path)).toThrow();
  }
});
