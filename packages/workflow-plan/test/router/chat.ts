import { anthropicServer } from "../../../workflow-agents/test/anthropic-server.ts";
import type { Reply, ReplyTool } from "../../../workflow-agents/test/wire.ts";
import { Planner, type PlannerOutput } from "../../src/entry/index.ts";
import { intentClassifier } from "../../src/router/intent.ts";
import { openMessaging } from "../../src/router/messaging.ts";
import { botApi, type SentMessage } from "../channel/bot-api.ts";
import { until } from "../channel/contract.ts";
import { TestHome } from "../home.ts";

/* A bot with a real plan home: grammy against a Bot API server, the planner against a model server. */
type Script = Parameters<typeof anthropicServer>[0];
export type BotOptions = {
  script?: Script;
  allowed?: string[];
  now?: () => number;
  home?: TestHome;
  server?: ReturnType<typeof botApi>;
  /** Whether a model classifies texts without a command. */
  isClassified?: boolean;
};

const ends: (() => unknown)[] = [];

/** Closes everything that the tests of a file opened. */
export async function closeBots(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
}

export const ask = (question: string): Reply => ({
  tools: [{ name: "ask_question", input: { question } }],
});
export const create = (output: PlannerOutput, ...more: ReplyTool[]): Reply => ({
  tools: [...more, { name: "create_workflow", input: output }],
});

/** Opens a bot. `write` sends as the user 7 in the chat 42 and waits for the answer. */
export async function bot(options: BotOptions = {}) {
  const { allowed = ["7"], home = new TestHome(), now = Date.now, script = [] } = options;
  const server = options.server ?? botApi();
  const model = await anthropicServer(script);
  const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
  const lines: string[] = [];
  const { host, plans } = home;
  const messaging = await openMessaging({
    ...{ plans, host, now },
    config: {
      telegram: {
        ...{ enabled: true, token: server.token, allowed_users: allowed, api_root: server.url },
      },
      whatsapp: { enabled: false, allowed_jids: [] },
    },
    planner: (context) =>
      new Planner({ env, context, folder: plans.folder, secrets: plans.secrets, now }),
    describe: (workflow) => `${workflow.name}\n${workflow.description}`,
    log: (line) => void lines.push(line),
    ...(options.isClassified && {
      classify: intentClassifier({ env }),
    }),
  });
  const polls = server.offsets.length;
  messaging.connect();
  const close = async (): Promise<void> => {
    await messaging.close();
    await messaging.router.idle();
  };
  ends.push(async () => {
    await close();
    await model.stop();
    if (!options.server) await server.stop();
  });
  // The bot assumes that messages of the first poll are older than its start, so wait for the second poll.
  await until(() => server.offsets.length > polls, "connected");
  const texts = (chat = "42"): string[] =>
    server.sent.filter((one) => one.chat === chat).map(({ text }) => text);

  /** Sends a text, and waits until the bot has handled it. Returns its answers: the newest text of each message. */
  async function write(text: string, { chat = 42, from = 7 } = {}): Promise<string[]> {
    const before = texts(String(chat)).length;
    const update = server.write(chat, text, from);
    await handled(update);
    return texts(String(chat)).slice(before);
  }

  async function press(data: string, { chat = 42, from = 7 } = {}): Promise<string[]> {
    const before = texts(String(chat)).length;
    await handled(server.press(chat, data, from));
    return texts(String(chat)).slice(before);
  }

  async function handled({ update_id }: Record<string, unknown>): Promise<void> {
    const isConfirmed = () => (server.offsets.at(-1) ?? 0) > Number(update_id);
    await until(isConfirmed, `update ${String(update_id)} is confirmed`);
    await messaging.router.idle();
  }

  const buttons = (): SentMessage["buttons"] =>
    server.sent.findLast((one) => one.buttons.length > 0)?.buttons ?? [];
  return {
    ...messaging,
    ...{ home, plans, host, server, model, lines, texts, close },
    ...{ write, press, handled, buttons },
  };
}
