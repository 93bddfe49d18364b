import { reasonOf } from "../channel/channel.ts";
import type { Workflow } from "../plan/plan.ts";
import type { Plans } from "../home/plans.ts";
import type { RunRow } from "../store/rows.ts";
import type { Conversation } from "./conversation.ts";
import { planLines, shortIds, statusLines } from "./views.ts";
import { missingChange, missingId, missingRequest } from "./errors.ts";

/** The context of a command. */
export type CommandCall = {
  plans: Plans;
  conversation: Conversation;
  reply: (text: string) => Promise<void>;
  /** Confirms the plan with an id or a hash. */
  confirm: (named: string) => Promise<void>;
  /** Decides about a failed step. `named` is the id of its failure, run or plan. */
  answer: (named: string, decision: string) => Promise<void>;
  /**
   * Tells whether a failed run was reported only after the command was written. The report then answers the command.
   */
  isUnseen: (run: RunRow | undefined) => Promise<boolean>;
};

/** A command of a chat: `/name` or `!name` and its arguments. */
export type ChatCommand = {
  name: string;
  usage: string;
  description: string;
  execute: (args: string, call: CommandCall) => Promise<void>;
};

/** Parses a command; null for other text. `to` is the bot that the command names. */
export function readCommand(text: string): { name: string; args: string; to?: string } | null {
  const [, name, to, args = ""] = /^[/!](\w[\w-]*)(@\w*)?(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (name === undefined) return null;
  return { name: name.toLowerCase(), args: args.trim(), ...(to !== undefined && { to }) };
}

export const findCommand = (name: string): ChatCommand | undefined =>
  commands.find((command) => command.name === name);

/** Returns all commands of a chat. */
export const chatCommands = (): readonly ChatCommand[] => commands;

/** Splits a command's arguments into the required id of a plan and the rest. */
function idIn(args: string, usage: string): { id: string; rest: string } {
  const [, id, rest = ""] = /^(\S+)(?:\s+([\s\S]*))?$/.exec(args) ?? [];
  if (id !== undefined) return { id, rest };
  throw missingId(usage);
}

/** Makes a command about one plan that answers with a line. */
function about(
  name: string,
  description: string,
  act: (id: string, call: CommandCall, rest: string) => Promise<string | null>,
  more = "",
): ChatCommand {
  const usage = `/${name} ID${more}`;
  return {
    ...{ name, usage, description },
    async execute(args, call) {
      const { id, rest } = idIn(args, usage);
      const answer = await act(call.plans.get(id).id, call, rest);
      if (answer !== null) await call.reply(answer);
    },
  };
}

/** Returns the readable plans, and a line for each damaged plan. */
async function readable(plans: Plans): Promise<{ all: Workflow[]; damaged: string[] }> {
  const damaged: string[] = [];
  const all = await plans.list((_id, error) => void damaged.push(reasonOf(error)));
  return { all, damaged };
}

const nameOf = ({ plans }: CommandCall, id: string): string => plans.get(id).name;

const commands: readonly ChatCommand[] = [
  {
    name: "new",
    usage: "/new TEXT",
    description: "makes a plan for your request",
    async execute(args, { conversation }) {
      if (args === "") throw missingRequest();
      await conversation.begin(args);
    },
  },
  {
    name: "list",
    usage: "/list",
    description: "all plans",
    async execute(_, { plans, reply }) {
      const { all, damaged } = await readable(plans);
      const short = shortIds(all.map(({ id }) => id));
      const shown = all.map(({ id, name, phase }) => `${short.get(id)}  ${phase}  ${name}`);
      const lines = [...shown, ...damaged];
      await reply(lines.length > 0 ? lines.join("\n") : "No plans found. /new TEXT makes a plan.");
    },
  },
  about("show", "a plan with its steps; asks for its confirmation", async (id, call) => {
    const view = await call.plans.show(id);
    const draft = call.plans.draft(id);
    await call.reply(planLines(view).join("\n"));
    const open: Workflow | null = view.phase === "awaiting_confirmation" ? view : draft;
    if (open) await call.conversation.ask(open);
    return null;
  }),
  {
    name: "status",
    usage: "/status [ID]",
    description: "open runs, or the last run of a plan",
    async execute(args, { plans, reply }) {
      if (args !== "") {
        const view = await plans.show(idIn(args, "/status ID").id);
        return await reply(statusLines(view).join("\n"));
      }
      const { all, damaged } = await readable(plans);
      const wanted = await plans.wanted();
      const short = shortIds(all.map(({ id }) => id));
      const busy = all.filter(({ phase }) => phase === "executing" || phase === "paused");
      const lines = [
        `${all.length === 1 ? "1 plan" : `${all.length} plans`}, ${all.filter(({ phase }) => phase === "active").length} active`,
        ...busy.map(({ id, name, phase }) => `${short.get(id)}  ${phase}  ${name}`),
        ...wanted.map(
          ({ error, runId, stepId }) => `${runId}: ${stepId} has failed and waits: ${error}`,
        ),
        ...damaged,
      ];
      await reply(lines.join("\n"));
    },
  },
  {
    name: "confirm",
    usage: "/confirm ID",
    description: "confirms a plan, by its id or the shown hash",
    execute: async (args, { confirm }) => await confirm(idIn(args, "/confirm ID").id),
  },
  about(
    "run",
    "runs a plan now",
    async (id, call, data) => {
      const { runId } = await call.plans.run(id, data === "" ? {} : { data });
      return `${nameOf(call, id)} runs now (${runId}).`;
    },
    " [DATA]",
  ),
  about("retry", "repeats the failed steps", async (id, call) => {
    const [last] = (await call.plans.show(id)).runs;
    if (await call.isUnseen(last)) return null;
    const { runId } = await call.plans.retry(id);
    return `${nameOf(call, id)} runs again (${runId}).`;
  }),
  about("pause", "stops before the next step", async (id, { plans }) => {
    const { name } = await plans.pause(id);
    return `${name} is paused.`;
  }),
  about("resume", "continues a paused plan", async (id, { plans }) => {
    const { name, phase } = await plans.resume(id);
    return `${name} is ${phase}.`;
  }),
  {
    name: "cancel",
    usage: "/cancel [ID]",
    description: "ends the planning, cancels the run of a plan, or discards its change",
    async execute(args, { conversation, plans, reply }) {
      if (args === "") {
        const text = (await conversation.end())
          ? "The planning has ended."
          : "There is no planning to end.";
        return await reply(text);
      }
      const { id, name, phase } = plans.get(idIn(args, "/cancel ID").id);
      const what = phase === "planning" ? "plan" : (await plans.cancel(id)).what;
      if (what === "run") return await reply(`The run of ${name} was cancelled.`);
      await conversation.endOf(id);
      if (what === "change") return await reply(`The change of ${name} was cancelled.`);
      await reply(`${name} is not confirmed. /delete ${id} removes it.`);
    },
  },
  about("delete", "removes a plan and its runs", async (id, call) => {
    const name = nameOf(call, id);
    await call.plans.remove(id);
    await call.conversation.endOf(id);
    return `${name} was removed.`;
  }),
  about(
    "modify",
    "changes a plan according to TEXT",
    async (id, { conversation }, text) => {
      if (text === "") throw missingChange();
      await conversation.change(id, text);
      return null;
    },
    " TEXT",
  ),
  {
    name: "answer",
    usage: "/answer ID DECISION",
    description: "decides about a step that has failed: retry, skip or abort",
    async execute(args, { answer }) {
      const { id, rest } = idIn(args, "/answer ID DECISION");
      await answer(id, rest.toLowerCase());
    },
  },
  {
    name: "help",
    usage: "/help",
    description: "these commands",
    async execute(_, { reply }) {
      const lines = commands.map(({ description, usage }) => `${usage}: ${description}`);
      const how = "Write a request or a command. A unique prefix of an id is enough.";
      await reply([how, ...lines].join("\n"));
    },
  },
];
