import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noUsage } from "@uncaged/workflow/interpreter";
import type { ThreadContext, WorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import { commandAgent, type CommandOptions } from "../src/command/command.ts";
import { type AgentOutput, fieldsOf, type LineReader } from "../src/command/reader.ts";
import { role } from "../src/role/role.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { numberIn, processesIn } from "./processes.ts";
import {
  failureOf,
  type Observed,
  observed,
  payloadOf,
  agentEventsOf,
  threadOf,
  typesOf,
} from "./published.ts";

const program = join(import.meta.dir, "commands/agent.mjs");
const token = "token-0123456789";
const env = { PATH: process.env.PATH ?? "", AGENT_TOKEN: token, OTHER_TOKEN: "other-9876543210" };

let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-agent-")));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

type Options = Partial<CommandOptions> & { args?: CommandOptions["argv"] };
const agent = (what: string, { args = [], ...options }: Options = {}) =>
  commandAgent({ argv: ["node", program, what, ...args], env: ["AGENT_*"], ...options });
const observe = (
  what: string,
  options: Options = {},
  thread: Partial<ThreadContext> = {},
  call = {},
) => observed(() => agent(what, options)(threadOf({ cwd, env, ...thread }), "You code."), call);
const codeOf = ({ error }: Observed) => (error as WorkflowError | null)?.code;
const messageOf = ({ error }: Observed) => (error as WorkflowError).message;
const steps = [
  { role: "coder", content: "wrote it", meta: {}, timestamp: 1 },
  { role: "tester", content: "it fails", meta: {}, timestamp: 2 },
] as ThreadContext["steps"];

const reader: LineReader = () => (value) => {
  const { think, text, session, answer } = fieldsOf(value) as Record<string, string>;
  const said: AgentOutput[] = [];
  if (think !== undefined) said.push({ kind: "thinking", delta: think });
  if (text !== undefined) said.push({ kind: "text", delta: text });
  if (session !== undefined) said.push({ kind: "session", id: session });
  if (answer !== undefined) said.push({ kind: "result", text: answer });
  return said;
};

describe("a command agent", () => {
  test("reads the thread from stdin, and its output is the answer", async () => {
    const run = await observe("echo", {}, { steps });
    expect(run.text).toBe(
      'You code.\n\nfix the sum\n\n<step number="1" role="coder">\nwrote it\n</step>\n\n' +
        '<step number="2" role="tester">\nit fails\n</step>',
    );
    expect(typesOf(run)).toEqual(["llm_token", "llm_done"]);
    expect(payloadOf(run, "llm_done")).toMatchObject({ has_tool_use: false, model: null });
  });

  test("gets its arguments unchanged, in the thread's directory", async () => {
    const odd = "--force {session} $(ls) 'x'";
    const args = ["--p={prompt}", ["--system", "{system}"], ["--resume", "{session}"]];
    const start = { ...threadOf().start, content: odd };
    const { text } = await observe("args", { args }, { start });
    expect(JSON.parse(text)).toEqual({
      args: [`--p=${odd}`, "--system", "You code."],
      stdin: "",
      cwd,
    });
  });

  test("gets the rest of the thread's `maxCost` in place of `{budget}` in its `argv`", async () => {
    const schema = z.object({ args: z.array(z.string()) });
    const args = [["--budget", "{budget}"]];
    const play = role({
      description: "",
      agent: agent("args", { args }),
      systemPrompt: "",
      schema,
    });
    const budgetOf = async (options: Record<string, unknown>, cost = 0) => {
      const meta = { usage: { ...noUsage, input_tokens: 10 }, model: "m", cost };
      const spent = [{ role: "coder", content: "", meta, timestamp: 1 }] as ThreadContext["steps"];
      return (await play(threadOf({ cwd, env, steps: spent, options }))).meta.args;
    };
    expect(await budgetOf({})).toEqual([]);
    expect(await budgetOf({ maxTokens: 100 })).toEqual([]);
    expect(await budgetOf({ maxCost: 0.5 }, 0.25)).toEqual(["--budget", "0.25"]);
    const usedUp = await failureOf(budgetOf({ maxCost: 0.3 }, 0.3));
    expect(usedUp).toMatchObject({ code: "BUDGET_EXCEEDED" });
    expect(await failureOf(budgetOf({ maxTokens: 10 }))).toMatchObject({ code: "BUDGET_EXCEEDED" });
  });

  test("gets only the environment variables that its options list", async () => {
    const { text } = await observe("env", { set: { CI: "1" } });
    const { PATH, ...rest } = JSON.parse(text) as Record<string, string>;
    expect(PATH).toBe(env.PATH);
    expect(rest).toEqual({ AGENT_TOKEN: "***", CI: "1", PWD: cwd });
  });

  test("publishes the events of its output line by line, and a line that is not JSON as a note", async () => {
    const run = await observe("lines", { output: reader });
    expect(run.text).toBe("You code.\n\nfix the sum");
    const reported = agentEventsOf(run).map(({ type, payload }) => [
      type,
      payload.delta ?? payload.message,
    ]);
    expect(reported.slice(0, 4)).toEqual([
      ["tool_message", "not JSON"],
      ["llm_thinking", "hm"],
      ["llm_token", "par"],
      ["llm_token", "tial"],
    ]);
    expect(typesOf(run).at(-1)).toBe("llm_done");
  });

  test("keeps its session for the role's next step, which gets only new input", async () => {
    const memory = {};
    const options = { output: reader, args: [["{session}"]] };
    await observe("lines", options, { role: "coder" }, { memory });
    expect(memory).toMatchObject({ sessions: [{ command: "node", session: "s1", steps: 0 }] });
    const own = { memory, remembered: 0 };
    const run = await observe("lines", options, { role: "coder", steps }, own);
    expect(payloadOf(run, "session")).toEqual({ agent: "node", session_id: "s1+" });
    expect(run.text).toBe('You code.\n\n<step number="2" role="tester">\nit fails\n</step>');
    expect(memory).toMatchObject({ sessions: [{ command: "node", session: "s1+", steps: 2 }] });
    const other = { sessions: [{ command: "claude", session: "of another command", steps: 1 }] };
    const fresh = await observe("lines", options, { role: "coder", steps }, { memory: other });
    expect(fresh.text).toContain("fix the sum");
  });

  test("gets the prompt and the instructions again in a session only if they changed", async () => {
    const first = threadOf({ cwd, env, role: "coder" });
    const own = { ...first, steps: steps.slice(0, 1) };
    const again = { ...own, start: { ...first.start, content: "fix the product" } };
    const args = [["{session}"], ["--system", "{system}"]];
    const ask = agent("lines", { output: reader, args });
    const memory = {};
    const play = async (thread: ThreadContext, system: string, remembered?: number) =>
      (await observed(() => ask(thread, system), { memory, remembered })).text;
    expect(await play(first, "You code.")).toBe("fix the sum");
    expect(await play(own, "You code.", 0)).toBe("Go on.");
    expect(await play(again, "You code.", 0)).toBe("fix the product");
    expect(await play(again, "You code in Zig.", 0)).toBe(
      "Your instructions are now these:\n\nYou code in Zig.\n\nGo on.",
    );
    expect(await play(again, "You code in Zig.", 0)).toBe("Go on.");
  });

  test("starts a new session after an edit of a step that the last session has seen, even of the role's own step", async () => {
    const play = role({
      description: "",
      agent: agent("lines", { output: reader, args: [["{session}"]] }),
      systemPrompt: "",
      schema: z.object({}),
    });
    const planned = { role: "planner", content: "the plan", meta: {}, timestamp: 1 };
    const thread = threadOf({ cwd, env, role: "coder" });
    const first = await play({ ...thread, steps: [planned] });
    const own = { role: "coder", timestamp: 2, ...first };
    const said = async (...given: object[]) =>
      (await play({ ...thread, steps: given as ThreadContext["steps"] })).content;
    expect(await said(planned, own)).toBe("Go on.");
    expect(await said({ ...planned, content: "another plan" }, own)).toContain("another plan");
    expect(await said(planned, { ...own, content: "edited" })).toStartWith("fix the sum\n\n<step");
  });

  test("gets an answer that does not fit the role's schema back in its session, at most twice", async () => {
    const args = [["{session}"], ["--system", "{system}"]];
    const play = role({
      description: "",
      agent: agent("lines", { output: reader, args }),
      systemPrompt: "You code.",
      schema: z.object({ ok: z.boolean() }),
    });
    const error = await failureOf(play(threadOf({ cwd, env, role: "coder" })));
    expect(error).toMatchObject({ code: "EXTRACTION_FAILED" });
    const { raw } = (error as { kept: { raw: string } }).kept;
    expect(raw).toStartWith('<step number="4" role="check">\nThe answer does not fit');
    expect(raw).not.toContain("fix the sum");
  });

  test("starts a new session when the old session is missing", async () => {
    const memory = { sessions: [{ command: "node", session: "gone", steps: 1 }] };
    const script = `if (process.argv[1]) { console.error("No session gone"); process.exit(1) }
      console.log(require("fs").readFileSync(0, "utf8"))`;
    const lost = commandAgent({
      argv: ["node", "-e", script, ["{session}"]],
      lostSession: /^the command "node" failed with exit code 1: No session/,
    });
    const thread = threadOf({ cwd, env, role: "coder", steps });
    const run = await observed(() => lost(thread, ""), { memory });
    expect(run.text).toStartWith("fix the sum\n\n<step");
  });

  test("counts the reported total, or the usage so far if it fails before the total", async () => {
    const usageOf = (input_tokens: number) => ({ ...noUsage, input_tokens });
    const counts: LineReader = () => (value) => {
      const { answer, tokens, all, text } = value as Record<string, string & number>;
      const spent = { model: "m", usage: usageOf(tokens ?? all ?? 0), cost: null };
      if (answer !== undefined) return [{ kind: "usage", id: answer, spent }];
      if (all !== undefined) return [{ kind: "spent", spent }];
      return [{ kind: "result", text: text ?? "" }];
    };
    const play = (lines: object[], exitCode: number) => {
      const script = `for (const line of ${JSON.stringify(lines)}) console.log(JSON.stringify(line));
        process.exitCode = ${exitCode};`;
      const reported = commandAgent({ argv: ["node", "-e", script], output: counts });
      return observed(() => reported(threadOf({ cwd, env }), ""));
    };
    const answers = [
      { answer: "a", tokens: 1 },
      { answer: "a", tokens: 5 },
      { answer: "b", tokens: 3 },
    ];
    const lastOf = ({ events }: Observed) => events.findLast(({ type }) => type === "llm_usage");
    const broken = await play(answers, 1);
    expect(broken.spent).toMatchObject([{ model: "m", usage: usageOf(8), cost: null }]);
    expect(lastOf(broken)?.payload).toMatchObject({ usage: usageOf(8), state: "broken" });
    const whole = await play([...answers, { all: 9 }, { text: "done" }], 0);
    expect(whole.spent).toMatchObject([{ model: "m", usage: usageOf(9), cost: null }]);
    expect(lastOf(whole)?.payload).toMatchObject({ usage: usageOf(9), state: "whole" });
    expect(whole.events.filter(({ type }) => type === "llm_start")).toHaveLength(1);
  });

  test("is refused at definition if its `argv` is invalid", () => {
    const made = (options: CommandOptions) => () => commandAgent(options);
    expect(made({ argv: [] })).toThrow("must begin with the command's name");
    expect(made({ argv: ["{prompt}"] })).toThrow("must begin with the command's name");
  });
});

describe("a failing command", () => {
  const wrong = async (run: Promise<Observed>) => {
    const ended = await run;
    const { error, code } = payloadOf(ended, "llm_error");
    expect(error).toBe(messageOf(ended));
    expect(code).toBe(codeOf(ended));
    expect((ended.error as WorkflowError).hint).toBeString();
    expect(JSON.stringify([ended.events, messageOf(ended)])).not.toContain(token);
    return `${codeOf(ended)}: ${messageOf(ended)}`;
  };

  test("is reported with a code when the command or its directory is missing, or its arguments are too long", async () => {
    const missing = commandAgent({ argv: ["no-such-agent"] });
    const run = observed(() => missing(threadOf({ cwd, env }), ""));
    expect(await wrong(run)).toBe('COMMAND_MISSING: the command "no-such-agent" is not found');
    expect(await wrong(observe("echo", {}, { cwd: join(cwd, "gone") }))).toContain(
      "does not exist",
    );
    expect(await wrong(observe("echo", {}, { cwd: undefined }))).toContain("NO_CWD");
    expect(await wrong(observe("args", { args: ["{prompt}"] }, long))).toContain(
      "too long arguments",
    );
  });

  test("is reported with its exit code and the masked last line of stderr, or with its signal", async () => {
    expect(await wrong(observe("fail"))).toBe(
      'COMMAND_FAILED: the command "node" failed with exit code 7: fatal: no account for ***',
    );
    expect(await wrong(observe("killed"))).toContain('the command "node" was ended by SIGKILL');
  });

  test("is reported when it prints nothing, or lines without an answer", async () => {
    expect(await wrong(observe("nothing"))).toBe(
      'COMMAND_SAID_NOTHING: the command "node" did not answer',
    );
    expect(await wrong(observe("env", { output: reader }))).toContain("COMMAND_SAID_NOTHING");
  });

  test("has the secrets in its output masked, even if a chunk boundary splits one", async () => {
    const run = await observe("secret");
    expect(run.text).toBe("my token is ***, keep it");
    const deltas = run.events
      .map(({ payload }) => (payload.delta as string | undefined) ?? "")
      .join("");
    expect(deltas).toBe("my token is ***, keep it");
  });

  test("is ended after 100 MB of output", async () => {
    expect(await wrong(observe("flood", { maxOutput: 1024 * 1024 }))).toContain(
      "COMMAND_SAID_TOO_MUCH: the command printed more than 1048576 characters",
    );
    expect(await wrong(observe("floodLine", { output: reader }))).toContain(
      "COMMAND_SAID_TOO_MUCH",
    );
  }, 180_000);

  test("is ended at its timeout, with all its processes", async () => {
    const run = await wrong(observe("hang", { timeoutMs: 500, graceMs: 200 }));
    expect(run).toBe('COMMAND_TIMEOUT: the command "node" was ended after 500 ms');
    expect(readFileSync(join(cwd, "asked-to-end"), "utf8")).toBe("yes");
    expect(numberIn(join(cwd, "grandchild"))).toBeGreaterThan(0);
    await until(() => processesIn(cwd).length === 0);
  });
});

const long = { start: { ...threadOf().start, content: "x".repeat(3_000_000) } };
