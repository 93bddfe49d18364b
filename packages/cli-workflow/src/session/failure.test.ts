import { expect, test } from "bun:test";
import { CommanderError } from "commander";
import { openLocalHost, WorkflowError } from "@uncaged/workflow/host";
import { reportFailure } from "./failure.ts";
import type { World } from "./session.ts";

function report(thrown: unknown, ...argv: string[]) {
  const written = { stdout: "", stderr: "" };
  const sink = (stream: "stdout" | "stderr") => ({
    terminal: false,
    columns: 80,
    write(text: string) {
      written[stream] += text;
    },
  });
  const world: World = {
    argv,
    env: {},
    cwd: () => "/",
    umask: 0,
    output: { results: sink("stdout"), notes: sink("stderr") },
    interruption: () => new AbortController().signal,
    openRoot: openLocalHost,
  };
  return { code: reportFailure(thrown, world), ...written };
}

const missing = { code: "NOT_THERE", kind: "missing", message: "it is\nnot there" } as const;

test("a user's error is one line, with its hint if there is one", () => {
  expect(report(new WorkflowError(missing))).toEqual({
    code: 4,
    stdout: "",
    stderr: "error: it is not there\n",
  });
  expect(report(new WorkflowError({ ...missing, hint: "look\u001b there" })).stderr).toBe(
    "error: it is not there; hint: look\\u001b there\n",
  );
});

test("no error shows the password of a URL", () => {
  const url = "postgres://ada:s3cret@db";
  const errors = [
    new WorkflowError({ ...missing, message: `no ${url}` }),
    new CommanderError(1, "commander.unknownOption", `error: unknown option '--host=${url}'`),
    new TypeError(`no ${url}`),
  ];
  for (const error of errors) {
    for (const argv of [[], ["--json"]]) {
      const { stderr, stdout } = report(error, ...argv);
      expect(stderr + stdout).toContain("postgres://ada:***@db");
      expect(stderr + stdout).not.toContain("s3cret");
    }
  }
});

test("several findings have one line each", () => {
  const error = new WorkflowError({ ...missing, hint: "fix it", details: ["a:1: x", "a:2: y"] });
  expect(report(error).stderr).toBe("error: a:1: x\nerror: a:2: y\nhint: fix it\n");
});

test("with --json an error is a document, unless --json is an operand", () => {
  const { stdout, stderr } = report(new WorkflowError(missing), "run", "--json");
  expect(JSON.parse(stdout)).toEqual({
    error: { code: "NOT_THERE", message: "it is\nnot there", hint: null },
  });
  expect(stderr).toBe("");
  expect(report(new WorkflowError(missing), "run", "--", "--json").stdout).toBe("");
});

test("a bug shows its stack and where to report it", () => {
  const { code, stdout, stderr } = report(new TypeError("x is undefined"));
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("failure.test.ts");
  expect(stderr).toContain("this is a bug in uncaged-workflow; hint: please report it");
});

test("a missing package is not a bug, and its error has the command to run", async () => {
  const absent = "@uncaged/not-there";
  const thrown: unknown = await import(absent).catch((error: unknown) => error);
  const { code, stderr } = report(thrown);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: [^\n]*@uncaged\/not-there is missing; hint: [^\n]*bun install/);
  expect(stderr).not.toContain("bug");
});

test("a system error is not a bug", () => {
  const refused = Object.assign(new Error("EACCES: permission denied, mkdir '/x'"), {
    code: "EACCES",
    errno: -13,
    syscall: "mkdir",
  });
  expect(report(refused)).toEqual({
    code: 1,
    stdout: "",
    stderr: "error: EACCES: permission denied, mkdir '/x'\n",
  });
});
