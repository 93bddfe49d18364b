/*
 * A server for Telegram's Bot API: long polling with confirmation by offset, MarkdownV2 with its reserved characters,
 * inline keyboards, and their errors. Shows a sent text as a user reads it.
 */
type Json = Record<string, unknown>;
export type SentMessage = {
  id: number;
  chat: string;
  text: string;
  isFormatted: boolean;
  buttons: { text: string; callback_data: string }[];
  edits: string[];
  topic?: number;
};

const token = "123456:local-test-token";
const longest = 4096;

type Refusal = {
  method: string;
  error_code: number;
  description: string;
  parameters?: Json;
  /** The number of successful calls before the refusal. */
  behind?: number;
};

class ApiError extends Error {
  constructor(
    readonly code: number,
    readonly description: string,
    readonly parameters?: Json,
  ) {
    super(description);
  }
}

/** Starts a server. A test sends messages and button presses as a user. */
export function botApi() {
  let updates: Json[] = [];
  let nextUpdate = 1;
  let nextMessage = 100;
  let wake = Promise.withResolvers<void>();
  const sent: SentMessage[] = [];
  const answered: Json[] = [];
  const offsets: number[] = [];
  const typing: string[] = [];
  const refusals: Refusal[] = [];
  const answers = new Map<string, string[]>();

  const push = (update: Json): Json => {
    const whole = { update_id: nextUpdate++, ...update };
    updates.push(whole);
    wake.resolve();
    wake = Promise.withResolvers();
    return whole;
  };

  async function getUpdates({ offset = 0, timeout = 0, limit = 100 }: Json, signal: AbortSignal) {
    offsets.push(Number(offset));
    updates = updates.filter(({ update_id }) => Number(update_id) >= Number(offset));
    if (updates.length === 0 && Number(timeout) > 0) {
      const over = Promise.withResolvers<void>();
      const timer = setTimeout(over.resolve, Number(timeout) * 1000);
      signal.addEventListener("abort", () => over.resolve());
      await Promise.race([wake.promise, over.promise]);
      clearTimeout(timer);
    }
    return updates.slice(0, Number(limit));
  }

  function textOf(value: unknown, mode: unknown): string {
    if (!String(value).isWellFormed())
      throw new ApiError(400, "Bad Request: strings must be encoded in UTF-8");
    const text = mode === "MarkdownV2" ? plainText(String(value)) : String(value);
    if (text.trim() === "") throw new ApiError(400, "Bad Request: message text is empty");
    if (text.length > longest) throw new ApiError(400, "Bad Request: message is too long");
    return text;
  }

  const methods: Record<string, (body: Json, signal: AbortSignal) => unknown> = {
    getMe: () => ({ id: 1, is_bot: true, first_name: "Plans", username: "plans_bot" }),
    deleteWebhook: () => true,
    getUpdates,
    sendChatAction: ({ chat_id }) => typing.push(String(chat_id)) > 0,
    sendMessage({ chat_id, message_thread_id: topic, parse_mode, reply_markup, text }) {
      const rows = ((reply_markup as Json)?.inline_keyboard ?? []) as SentMessage["buttons"][];
      const buttons = rows.flat();
      if (buttons.some(({ callback_data }) => Buffer.byteLength(callback_data) > 64))
        throw new ApiError(400, "Bad Request: BUTTON_DATA_INVALID");
      const message = {
        ...{ id: nextMessage++, chat: String(chat_id), text: textOf(text, parse_mode) },
        ...{ isFormatted: parse_mode === "MarkdownV2", buttons, edits: [] },
        ...(topic !== undefined && { topic: Number(topic) }),
      };
      sent.push(message);
      return { message_id: message.id, date: 0, chat: { id: Number(chat_id), type: "private" } };
    },
    editMessageText({ chat_id, message_id, parse_mode, text }) {
      const message = sent.find(({ chat, id }) => id === message_id && chat === String(chat_id));
      if (!message) throw new ApiError(400, "Bad Request: message to edit not found");
      const now = textOf(text, parse_mode);
      if (now === message.text) throw new ApiError(400, "Bad Request: message is not modified");
      message.edits.push(message.text);
      message.text = now;
      return { message_id, date: 0, chat: { id: Number(chat_id), type: "private" } };
    },
    answerCallbackQuery: (body) => answered.push(body) > 0,
  };

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const [, given, method = ""] =
        /^\/bot([^/]+)\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
      const body = (await request.json().catch(() => ({}))) as Json;
      const odd = answers.get(method)?.shift();
      if (odd !== undefined)
        return new Response(odd, { headers: { "content-type": "application/json" } });
      try {
        if (given !== token) throw new ApiError(401, "Unauthorized");
        const at = refusals.findIndex((one) => one.method === method && isDue(one));
        const [refusal] = at < 0 ? [] : refusals.splice(at, 1);
        if (refusal)
          throw new ApiError(refusal.error_code, refusal.description, refusal.parameters);
        const run = methods[method];
        if (!run) throw new ApiError(404, "Not Found");
        return Response.json({ ok: true, result: await run(body, request.signal) });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { code, description, parameters } = error;
        const answer = { ok: false, error_code: code, description, parameters };
        return Response.json(answer, { status: code });
      }
    },
  });

  const user = (id: number | string) => ({ id: Number(id), is_bot: false, first_name: "Ada" });
  const chatOf = (id: number | string) =>
    Number(id) < 0
      ? { id: Number(id), type: "supergroup", title: "Team" }
      : { id: Number(id), type: "private", first_name: "Ada" };
  return {
    token,
    url: `http://127.0.0.1:${server.port}`,
    ...{ sent, answered, offsets, typing, push },
    /** Writes as a user. The fields may leave out the text or the sender. */
    write: (
      chat: number | string,
      text: string | null,
      from: number | string | null = chat,
      more: Json = {},
    ): Json =>
      push({
        message: {
          ...{ message_id: nextMessage++, date: 1_700_000_000, chat: chatOf(chat) },
          ...(from !== null && { from: user(from) }),
          ...(text !== null && { text }),
          ...more,
        },
      }),
    press: (chat: number | string, data: string, from: number | string = chat): Json =>
      push({
        callback_query: {
          ...{ id: `press-${nextUpdate}`, from: user(from), chat_instance: "1", data },
          message: { message_id: nextMessage, date: 1_700_000_000, chat: chatOf(chat), text: "…" },
        },
      }),
    /** Refuses the next call of a method. */
    refuse: (refusal: Refusal) => void refusals.push(refusal),
    /** Answers the next call of a method with the given body. */
    answerWith: (method: string, body: string): void => {
      answers.set(method, [...(answers.get(method) ?? []), body]);
    },
    stop: () => server.stop(true),
  };
}

/** Tells whether a refusal applies to this call. Counts the calls that pass before it. */
function isDue(refusal: Refusal): boolean {
  refusal.behind = (refusal.behind ?? 0) - 1;
  return refusal.behind < 0;
}

const reserved = "_*[]()~`>#+-=|{}.!";

/**
 * Returns the text that a user reads in MarkdownV2.
 * @throws ApiError like Telegram for a character that must be escaped.
 */
function plainText(markup: string): string {
  let text = "";
  let bold = false;
  for (let at = 0; at < markup.length; at += 1) {
    const sign = markup[at] ?? "";
    if (sign === "\\") text += markup[(at += 1)] ?? "";
    else if (sign === "*") bold = !bold;
    else if (sign === "`") {
      const fence = markup.startsWith("```", at) ? "```" : "`";
      const end = closing(markup, at + fence.length, fence);
      text += markup.slice(at + fence.length, end).replace(/\\([`\\])/g, "$1");
      at = end + fence.length - 1;
    } else if (reserved.includes(sign)) throw cantParse(`Character '${sign}' is reserved`);
    else text += sign;
  }
  if (bold) throw cantParse("Can't find end of Bold entity");
  return text;
}

function closing(markup: string, from: number, fence: string): number {
  for (let at = from; at < markup.length; at += 1) {
    if (markup[at] === "\\") at += 1;
    else if (markup.startsWith(fence, at)) return at;
  }
  throw cantParse("Can't find end of Code entity");
}

const cantParse = (why: string): ApiError =>
  new ApiError(400, `Bad Request: can't parse entities: ${why}`);
