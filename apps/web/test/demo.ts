import { join } from "node:path";
import { command as program } from "../../../packages/cli-workflow/test/command.ts";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import type { ServingProcess } from "../../../packages/server/test/serving.ts";

const examples = join(import.meta.dir, "../../../examples");

/** The threads of a {@link demo}, by their state. */
export type Demo = Record<
  "solved" | "forked" | "asking" | "notes" | "failed" | "stopped" | "asleep" | "long" | "mail",
  string
>;

/** Fills a storage root with the workflows and threads of a team, in every state. */
export async function demo(serving: ServingProcess): Promise<Demo> {
  const repository = join(serving.folder, "median");
  const run = (...args: string[]) => command(serving, repository, ...args);
  await shell(serving, "sh", join(examples, "solve-issue/make-repository.sh"), repository);
  await Promise.all([
    run("add", "review", join(examples, "review-repository/workflow.ts")),
    run("add", "solve-issue", join(examples, "solve-issue/workflow.ts")),
    run("add", "announce", join(examples, "ask-a-person/workflow.ts")),
    run("add", "release-notes", join(examples, "release-notes/flow.json")),
    run("add", "import-orders", serving.write("import-orders.esm.js", importer)),
    run("add", "answer-mail", serving.write("answer-mail.esm.js", mailer)),
    run("add", "send-reminder", serving.write("send-reminder.esm.js", reminder)),
  ]);

  const median = "median() is wrong for [4, 1, 3, 2]";
  const [solved, asking, notes, failed, stopped, asleep, long, mail] = await Promise.all([
    started(run, "solve-issue", "--prompt", median),
    started(run, "announce", "--prompt", "Version 2: threads can be forked"),
    started(run, "release-notes"),
    started(run, "import-orders", "--option", "fails=true"),
    started(run, "import-orders", "--max-rounds", "2"),
    started(run, "send-reminder"),
    started(run, "import-orders", "--max-rounds", "100000"),
    started(run, "answer-mail", "--prompt", "Order 1042 has not come"),
    run("add", "review", join(examples, "review-repository/workflow-v2.ts")),
  ]);
  await Promise.all([
    serving.until(solved, "completed"),
    serving.until(failed, "failed"),
    serving.until(mail, "completed"),
    serving.until(stopped, "completed"),
    serving.until(asleep, "waiting"),
  ]);
  const fork = await run("fork", solved, "--from-role", "planner", "--json");
  const { threadId: forked } = JSON.parse(fork) as { threadId: string };
  return { solved, forked, asking, notes, failed, stopped, asleep, long, mail };
}

const importer = bundleOf(`
  for (let n = input.steps.length; n < (options.fails ? 3 : 40); n += 1) {
    if (!options.fails) await sleep(400);
    yield step(n % 4 === 3 ? "checker" : "reader", "rows " + n * 250 + " to " + (n * 250 + 249), { rows: 250 });
  }
  if (options.fails) throw new Error("orders.csv, line 751: no date");
`).replace("a test", "Imports orders, 250 rows at a time");

const reminder = bundleOf(`
  yield step("writer", "Your trial ends in a week");
  const meta = { for: "reminder", sleep: true, expiresAt: Date.now() + 7 * 86_400_000 };
  yield step("__wait__", "sleeping", meta);
`).replace("a test", "Reminds a customer after a week");

/** Publishes events like a role that calls a model. */
const mailer = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const publish = (stepID, type, payload) => channel("uncaged.workflow").publish({ type, stepID, payload });
  const ask = (role, inputs, thinking, tools, text, meta) => {
    publish(role, "step_start", { type: "Role", meta: { title: role }, resolvedInputs: inputs });
    publish(role, "llm_thinking", { delta: thinking });
    for (const { name, input, content } of tools) {
      publish(role, "llm_tool_use", { tool_use_id: name, name, input });
      publish(role, "llm_tool_result", { tool_use_id: name, content, is_error: false });
    }
    publish(role, "llm_token", { delta: text });
    const usage = { input_tokens: 1840, output_tokens: 212 };
    publish(role, "llm_done", { model: "claude-opus-5-5", usage, latency_ms: 2310, finish_reason: "end_turn" });
    return step(role, text, { ...meta, usage, model: "claude-opus-5-5", cost: 0.0145 });
  };
  yield ask("reader", { mail: input.prompt },
    "They name an order. I should look at where it is before I say anything.",
    [{ name: "find_order", input: { number: 1042 }, content: "sent on 18 November, at the depot since" }],
    "The order was sent on 18 November and has been at the depot since then.", { order: 1042, kind: "late" });
  yield ask("writer", { kind: "late", order: 1042 }, "Short, and with a day that we can keep.", [],
    "Dear customer,\\n\\nyour order is at the depot and **will be with you on Tuesday**. We are sorry that it took so long.",
    { tone: "plain" });
`).replace("a test", "Answers the mail of customers")}`;

async function started(run: (...args: string[]) => Promise<string>, ...args: string[]) {
  return (JSON.parse(await run("run", ...args, "--json")) as { threadId: string }).threadId;
}

async function command({ env }: ServingProcess, cwd: string, ...args: string[]): Promise<string> {
  return await output(Bun.spawn([program, ...args], { cwd, env, stdout: "pipe", stderr: "pipe" }));
}

const shell = ({ env, folder }: ServingProcess, ...words: string[]): Promise<string> =>
  output(Bun.spawn(words, { cwd: folder, env, stdout: "pipe", stderr: "pipe" }));

async function output(child: Bun.Subprocess<"ignore", "pipe", "pipe">): Promise<string> {
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(stderr);
  return stdout;
}
