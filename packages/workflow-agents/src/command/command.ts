import { basename } from "node:path";
import {
  type AgentFn,
  isWorkflowError,
  type ThreadContext,
  WorkflowError,
} from "@uncaged/workflow";
import { maskOf, noUsage } from "@uncaged/workflow/interpreter";
import { ownProcesses } from "@uncaged/workflow/sandbox";
import { type ChildEnd, leavesRunning, runChild } from "../child/child.ts";
import { Lines } from "../child/output.ts";
import { allowed } from "../child/request.ts";
import { checkSandbox, type Sandboxed, type SandboxOptions, sandboxed } from "../child/sandbox.ts";
import { oneLine } from "../run/error.ts";
import { currentRun, cwdOf, digest, inAttempt, stepText } from "../run/run.ts";
import type { LineReader } from "./reader.ts";
import {
  type Changed,
  heardOf,
  keepSession,
  recordSession,
  type Session,
  sessionsOf,
} from "./session.ts";
import { CommandReport, readLines, readText } from "./report.ts";
import { filled, has, placeholder, type Template } from "./template.ts";
import { commandFailed, commandSilent, commandTimeout, noCommandName } from "./errors.ts";

/** Options of {@link commandAgent}. Times are in milliseconds. Defaults are in parentheses. */
export type CommandOptions = SandboxOptions & {
  /** The command and its arguments. Without `{prompt}` in the arguments, the command gets the prompt by stdin. */
  argv: Template;
  /** The format of the output: the answer as text (`text`, the default), or JSON lines that the given reader reads. */
  output?: "text" | LineReader;
  /**
   * Variables to pass in addition to the harmless variables (`PATH`, `HOME`, …). `NAME_*` passes every variable with
   * that prefix.
   */
  env?: readonly string[];
  /** Variables that override the thread's environment. */
  set?: Readonly<Record<string, string>>;
  /**
   * Values to replace by `[secret:NAME]` in the command's output, in addition to the secrets in the command's
   * environment.
   */
  secrets?: Readonly<Record<string, string>>;
  /**
   * Replaces the program by another command line, for example of a sandbox, with the open file descriptors that it
   * needs. `onStarted` is called with the process id.
   */
  launch?: {
    argv: readonly string[];
    descriptors?: () => readonly number[];
    onStarted?: (pid: number) => void;
  };
  /** The timeout (30 minutes), and the grace period between SIGTERM and SIGKILL (5 seconds). */
  timeoutMs?: number;
  graceMs?: number;
  /** The maximum length of the answer in characters (10 Mi). With a reader, the maximum output in bytes (unlimited). */
  maxOutput?: number;
  /** Whether a command with a reader may report an empty answer. */
  allowsEmpty?: boolean;
  /**
   * Matches the error message for a missing session. After such an error, the command runs again with an older session
   * or without a session.
   */
  lostSession?: RegExp;
  /**
   * Returns the text of the thread for the command. The command's session already has the first `known` steps, and the
   * prompt unless `changed` says otherwise.
   */
  message?: (ctx: ThreadContext, known: number, changed: Changed) => string;
};

/** Options of the preset agents: the program, and additions to its defaults. */
export type PresetOptions = Pick<
  CommandOptions,
  | "set"
  | "secrets"
  | "launch"
  | "timeoutMs"
  | "graceMs"
  | "message"
  | "maxOutput"
  | "allowsEmpty"
  | keyof SandboxOptions
> & {
  command?: string;
  model?: string;
  args?: readonly string[];
  env?: readonly string[];
};

/**
 * Returns the agent of a preset. `own` lists environment variables to pass, and `argv` has the arguments after the
 * program.
 */
export function presetAgent(
  options: PresetOptions,
  program: string,
  own: readonly string[],
  { isClaude, ...rest }: Pick<CommandOptions, "argv" | "output" | "lostSession"> & Own,
): AgentFn {
  const { set, secrets, launch, timeoutMs, graceMs, message, maxOutput, allowsEmpty } = options;
  const { allow, command = program, env = [], network, sandbox } = options;
  const given = {
    ...{ set, secrets, launch, timeoutMs, graceMs, message, maxOutput, allowsEmpty, ...rest },
    ...{ sandbox, network, allow },
    argv: [command, ...rest.argv],
    env: [...own, ...proxies, ...env],
  };
  return agentOf(given, { isClaude });
}

/**
 * Settings that only presets have. `isClaude` means that the command is Claude Code, whose login the sandbox provides.
 */
type Own = { isClaude?: boolean };

// Proxy settings, for hosts without direct network access.
const proxies = "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"
  .split(" ")
  .concat("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS");

type Settings = Required<Omit<CommandOptions, "launch" | keyof SandboxOptions>> &
  Pick<CommandOptions, "launch"> & { sandbox: SandboxOptions & Own };

const longestText = 10 * 1024 * 1024;
// Maximum length of an argument in bytes. Linux allows 128 KiB.
const longestArgument = 100 * 1024;
/** Maximum silence of a command after its answer, in grace periods. */
const lingers = 12;

/**
 * Returns an agent that runs a command in the thread's directory. The command gets the text of the thread. Its output
 * is the answer, with the secrets of the command's environment masked.
 *
 *     const reviewer = commandAgent({ argv: ["my-agent", "--quiet", ["--system", "{system}"]] });
 *
 * Without `{system}` in `argv`, the system prompt comes before the prompt. The session id that a reader finds is
 * recorded in the step's `meta.agent`. A later step of the role resumes the session if `argv` has `{session}`.
 *
 * @throws WorkflowError `BAD_COMMAND` at definition; from the agent `NO_CWD`, `COMMAND_…`, `BUDGET_EXCEEDED`. The agent
 *   throws the signal's reason when the thread is killed.
 */
export const commandAgent = (options: CommandOptions): AgentFn => agentOf(options, {});

function agentOf(options: CommandOptions, own: Own): AgentFn {
  const { allow, network, sandbox } = options;
  checkSandbox({ allow, network, sandbox }, "BAD_COMMAND");
  const isText = (options.output ?? "text") === "text";
  const settings: Settings = {
    argv: options.argv,
    output: options.output ?? "text",
    env: options.env ?? [],
    set: options.set ?? {},
    secrets: options.secrets ?? {},
    launch: options.launch,
    sandbox: { allow, network, sandbox, ...own },
    timeoutMs: options.timeoutMs ?? 30 * 60_000,
    graceMs: options.graceMs ?? 5000,
    maxOutput: options.maxOutput ?? (isText ? longestText : Number.POSITIVE_INFINITY),
    allowsEmpty: options.allowsEmpty ?? false,
    lostSession: options.lostSession ?? /(?!)/,
    message: options.message ?? threadText,
  };
  const [command] = settings.argv;
  if (typeof command !== "string" || command === "" || command.search(placeholder) >= 0) {
    throw noCommandName();
  }
  const name = basename(command);
  return (ctx, systemPrompt) =>
    inAttempt(ctx, async ({ index }) => {
      const asked = { command: name, index, system: systemPrompt };
      const hasSessions = has(settings.argv, "session");
      const { sessions, stale } = await sessionsOf(ctx, asked, hasSessions);
      const start = async (known: Session | undefined): Promise<CommandRun> => {
        const { budget, release } = await reserveBudget(name, settings, ctx.signal);
        const given = { system: systemPrompt, session: known ?? null, budget };
        const onSession = hasSessions ? (id: string) => recordSession(ctx, asked, id) : undefined;
        return await runOnce(name, settings, ctx, { ...given, onSession }).finally(release);
      };
      let run = await start(sessions[0]);
      if (stale !== null) {
        const why = `steps that the session ${stale} saw have changed: a new session gets the whole thread`;
        run.report.note("info", why);
      }
      for (const [at, { session }] of sessions.entries()) {
        if (!run.error || !settings.lostSession.test(run.error.message)) break;
        const next = sessions[at + 1];
        const goesOn = next
          ? `the session ${next.session} continues`
          : "a new session gets the whole thread";
        run.report.note("warn", `the session ${session} was not found: ${goesOn}`);
        run.report.noCall();
        run = await start(next);
      }
      if (run.error) {
        const error = run.report.isOverBudget ? await exceeded(name, run.error) : run.error;
        run.report.failed(error);
        throw error;
      }
      if (run.report.session !== null) {
        keepSession(ctx, asked, run.report.session);
      }
      run.report.done();
      return run.report.result;
    });
}

const leastOf = (model: string) => {
  return { model, usage: { ...noUsage, output_tokens: 1 }, cost: 0.0001 };
};

/**
 * Reserves the budget of a run: the rest of the limit if the command has an argument for a budget, otherwise the
 * minimum.
 */
async function reserveBudget(
  name: string,
  { argv }: Settings,
  signal: AbortSignal | undefined,
): Promise<{ budget: string | null; release: () => void }> {
  const { reserve, remaining } = currentRun();
  const least = leastOf(name);
  const first = await reserve(least, { atRoot: least.cost, signal });
  if (!has(argv, "budget")) return { budget: null, release: first.release };
  first.release();
  const budget = remaining?.() ?? null;
  const cost = Math.max(budget ?? 0, least.cost);
  const { release } = await reserve(
    { ...least, cost },
    { waits: false, atRoot: least.cost, signal },
  );
  return { budget: budget === null ? null : String(budget), release };
}

/**
 * Returns the error of a run that exceeded its budget: the error of the thread's limit, or `error` if that limit is not
 * reached.
 */
async function exceeded(name: string, error: WorkflowError): Promise<WorkflowError> {
  try {
    (await currentRun().reserve(leastOf(name), { waits: false, atRoot: 0 })).release();
    return error;
  } catch (refusal) {
    return isWorkflowError(refusal) ? refusal : error;
  }
}

type Given = {
  system: string;
  session: Session | null;
  budget: string | null;
  onSession?: (id: string) => void;
};
type CommandRun = { report: CommandReport; error: WorkflowError | null };

async function runOnce(
  name: string,
  settings: Settings,
  ctx: ThreadContext,
  given: Given,
): Promise<CommandRun> {
  const { signal = new AbortController().signal } = ctx;
  const { argv, message, timeoutMs, graceMs } = settings;
  const { system, session, budget, onSession } = given;
  const env = { ...allowed(ctx.env ?? {}, settings.env), ...settings.set };
  const mask = maskOf(env, [], settings.secrets);
  const report = new CommandReport(name, mask, {
    reportsSpending: settings.output !== "text",
    onSession,
  });
  const errors = new Lines(64 * 1024, (line) => report.addError(line));
  const output =
    settings.output === "text"
      ? readText(settings.maxOutput, report)
      : readLines(settings.output, report, settings.maxOutput);
  const changed = changedSince(session?.heard, ctx, system);
  const own = message(ctx, session?.steps ?? 0, changed);
  // The operating system limits the length of an argument, so longer instructions come before the message.
  const isFlag = has(argv, "system") && Buffer.byteLength(system) <= longestArgument;
  const prompt = withInstructions(own, { ...given, isFlag, changed });
  const values = {
    ...{ prompt, budget, session: session?.session ?? null },
    system: isFlag ? system || null : null,
  };
  const finished = new AbortController();
  let lingering: ReturnType<typeof setTimeout> | undefined;
  let box: Sandboxed | null = null;
  try {
    const cwd = cwdOf(ctx, "a command needs one");
    const [program = ""] = argv.flat();
    if (!settings.launch) {
      box = await sandboxed(settings.sandbox, {
        ...{ program, top: cwd, cwd, env, threadEnv: ctx.env ?? {}, thread: ctx },
        ...{ home: `role-${digest(ctx.role ?? "")}`, isClaude: settings.sandbox.isClaude },
        warn: (text) => report.note("warn", text),
      });
    }
    const launch = settings.launch ?? box;
    // A sandbox ends all processes in it.
    const processes = launch ? null : await ownProcesses();
    if (!launch && !processes) report.note("warn", leavesRunning);
    await report.begun();
    const end = await runChild({
      argv: [...(launch?.argv ?? [program]), ...filled(argv.slice(1), values)],
      ...{ env: box?.env ?? env, signal, timeoutMs, graceMs, own: processes, cwd },
      ...{ isSandbox: launch !== null, descriptors: launch?.descriptors?.() },
      onStarted: settings.launch?.onStarted,
      input: has(argv, "prompt") ? "" : prompt,
      finished: finished.signal,
      onOutput(chunk) {
        clearTimeout(lingering);
        output.add(chunk);
        if (report.isFinished) lingering = setTimeout(() => finished.abort(), lingers * graceMs);
      },
      onError: (chunk) => errors.add(chunk),
    });
    signal.throwIfAborted();
    errors.end();
    output.end();
    const isFinished = settings.output !== "text" && report.isFinished;
    report.conclude();
    if (isFinished && (end.by !== "exit" || end.exitCode !== 0)) {
      report.note("warn", `its answer is used, although it ${howItEnded(end, settings)}`);
      return { report, error: null };
    }
    return { report, error: failureOf(name, end, report, settings) };
  } catch (thrown) {
    if (signal.aborted || !(thrown instanceof WorkflowError)) throw thrown;
    return { report, error: thrown };
  } finally {
    clearTimeout(lingering);
    await box?.end();
  }
}

/** Describes the end of a command after its answer. */
function howItEnded(end: ChildEnd, { graceMs, timeoutMs }: Settings): string {
  if (end.by === "timeout") return `had not ended after ${timeoutMs} ms, and was ended`;
  if (end.by === "finished") return `did not end for ${lingers * graceMs} ms, and was ended`;
  return end.signal ? `was ended by ${end.signal}` : `ended with exit code ${end.exitCode}`;
}

function changedSince(heard: Session["heard"], ctx: ThreadContext, system: string): Changed {
  const now = heardOf(ctx, 0, system);
  return { prompt: heard?.prompt !== now.prompt, system: heard?.system !== now.system };
}

/**
 * Prepends the instructions to a message if the arguments do not have them, or if they changed since the session got
 * them.
 */
function withInstructions(
  message: string,
  { system, session, isFlag, changed }: Given & { isFlag: boolean; changed: Changed },
): string {
  if (system === "" || (isFlag && session === null)) return message;
  if (!isFlag) return `${system}\n\n${message}`;
  return changed.system ? `Your instructions are now these:\n\n${system}\n\n${message}` : message;
}

/** Returns the error of a command that has ended, or null if it succeeded with an answer. */
function failureOf(
  name: string,
  end: ChildEnd,
  report: CommandReport,
  { allowsEmpty, timeoutMs }: Settings,
): WorkflowError | null {
  const command = `the command ${JSON.stringify(name)}`;
  const why = oneLine(report.failure ?? report.lastLine, 500);
  if (end.by === "timeout") return commandTimeout(command, timeoutMs, why);
  if (end.exitCode !== 0 || report.failure !== null) {
    const how = end.signal ? `was ended by ${end.signal}` : `failed with exit code ${end.exitCode}`;
    const isLimit = limitReached.test(report.failure ?? "");
    return commandFailed(command, { how: end.exitCode === 0 ? "failed" : how, why, isLimit });
  }
  if (report.result !== "" || (allowsEmpty && report.isAnswered)) return null;
  return commandSilent(command, why);
}

/** Matches the error message of a command whose account has reached a usage limit. */
const limitReached =
  /\b(usage|rate|session|weekly|daily|monthly|spend|5-hour|hour)\s+limit|hit your .*limit|out of extra usage|spending cap|credit balance is too low|quota/i;

/**
 * Returns the prompt and each role's text. For a session that already has the first `known` steps, returns only the
 * later steps, and the prompt if it changed.
 */
function threadText(ctx: ThreadContext, known: number, changed: Changed): string {
  const steps = ctx.steps.slice(known).map((step, at) => stepText(step, known + at + 1));
  const prompt = changed.prompt ? [ctx.start.content.trim() || "(no prompt)"] : [];
  const parts = [...prompt, ...steps];
  return parts.length > 0 ? parts.join("\n\n") : "Go on.";
}
