import { parseExact, rawNumber } from "@uncaged/workflow/interpreter";
import { wordIn } from "../content/sent.ts";
import { isObject } from "../run/error.ts";
import { isObjectText } from "./accumulator.ts";
import type { Block, Message, ModelRequest } from "./provider.ts";
import { completeSchema } from "./tool-schema.ts";

/** Returns whether a protocol accepts a call id. */
export type IdRule = (id: string) => boolean;

/**
 * Repairs a request so that every service accepts its format: well-formed text, no blank blocks, calls with valid names
 * and ids and exactly one result each, exact numbers, complete tool schemas. A valid request is unchanged, so that a
 * provider's cache finds it.
 */
export function sendable<Request extends ModelRequest>(request: Request, isId: IdRule): Request {
  const { system, messages, tools } = request;
  return {
    ...wellFormed({ ...request, messages: [], tools: [] }),
    system: isBlank(system) ? "" : wellFormed(system),
    messages: new Conversation(isId).of(messages),
    tools: tools.map((tool) => {
      const input_schema = wellFormed(completeSchema(tool.input_schema));
      return { ...wellFormed(tool), input_schema };
    }),
  };
}

// Services treat more characters as blank than `trim` does. oxlint-disable-next-line no-control-regex
const blank = /^[\s\u001c-\u001f\u0085]*$/;
const isBlank = (text: unknown): boolean => typeof text !== "string" || blank.test(text);

/** Returns a JSON value with lone surrogates replaced, or the same value if all its text is well-formed. */
function wellFormed<T>(value: T): T;
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) {
    const list = value.map((one: unknown) => wellFormed(one));
    return list.some((one, at) => one !== value[at]) ? list : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const next = entries.map(([key, one]) => [wellFormed(key), wellFormed(one)] as const);
  if (next.every(([key, one], at) => key === entries[at]?.[0] && one === entries[at][1])) {
    return value;
  }
  const copy = { ...value };
  for (const key of Object.keys(copy)) delete copy[key];
  for (const [key, one] of next) {
    Object.defineProperty(copy, key, {
      ...{ value: one, enumerable: true, writable: true, configurable: true },
    });
  }
  return copy;
}

const nothing = "(nothing)";
const noResult = "(no output)";

/** Repairs the messages of one request. */
class Conversation {
  readonly #isId: IdRule;
  readonly #sent: Message[] = [];
  readonly #ids = new Set<string>();
  /** The calls that lack a result so far, with their original ids and the ids to send. */
  #open: { was: string; id: string }[] = [];
  readonly #held: Message[] = [];

  constructor(isId: IdRule) {
    this.#isId = isId;
  }

  of(messages: readonly Message[]): Message[] {
    for (let at = 0; at < messages.length; at += 1) {
      const message = messages[at] as Message;
      const { role } = message;
      const content = listOf(message);
      if (role === "system") {
        const texts = content.filter(({ type }) => type === "text");
        // A message must not come between a call and its result.
        if (texts.length > 0) this.#held.push(withContent(message, texts));
      } else if (role === "assistant") this.#answer(message, content);
      else {
        // The other results may follow in separate messages.
        while (this.#open.length > 0 && hasResults(messages[at + 1])) {
          content.push(...listOf(messages[(at += 1)] as Message));
        }
        this.#ask(message, content);
      }
      this.#release();
    }
    this.#closeCalls();
    this.#trimEnd();
    if (!this.#sent.some(({ role }) => role !== "system")) {
      this.#sent.push({ role: "user", content: nothing });
    }
    return this.#sent;
  }

  #answer(message: Message, given: Block[]): void {
    this.#closeCalls();
    const content = given.map((block) =>
      block.type === "tool_use" ? this.#call(block) : strayResult(block),
    );
    if (content.length > 0) this.#sent.push(withContent(message, content));
  }

  #call({ exact, ...given }: Block): Block {
    const was = wordIn(given.id);
    const id = this.#newId(was);
    this.#open.push({ was, id });
    const block: Block = { ...given, id, name: nameOf(given.name), input: inputOf(given, exact) };
    const { item } = given;
    if (!isObject(item) || item.type !== "function_call") return block;
    // A lone surrogate may be an escape sequence in the JSON.
    const isKept =
      isObjectText(String(item.arguments)) && !/\\ud[89a-f]/i.test(String(item.arguments));
    const args = isKept ? item.arguments : JSON.stringify(block.input);
    return { ...block, item: { ...item, call_id: id, name: block.name, arguments: args } };
  }

  #newId(was: string): string {
    const clean = this.#isId(was) ? was : was.replace(/[^\w-]/g, "_").slice(0, 32) || "call";
    let id = clean;
    for (let nth = 2; this.#ids.has(id); nth += 1) id = `${clean.slice(0, 32)}_${nth}`;
    this.#ids.add(id);
    return id;
  }

  #ask(message: Message, given: Block[]): void {
    const results: Block[] = [];
    const others: Block[] = [];
    for (const block of given) {
      const call = block.type === "tool_result" ? this.#take(String(block.tool_use_id)) : null;
      if (call !== null) results.push(resultOf(block, call));
      else others.push(strayCall(strayResult(block)));
    }
    const content = [...results, ...this.#missing(), ...others];
    if (content.length === 0) content.push({ type: "text", text: nothing });
    this.#sent.push(withContent(message, content));
  }

  #take(was: string): string | null {
    const at = this.#open.findIndex((call) => call.was === was);
    return at < 0 ? null : (this.#open.splice(at, 1)[0]?.id ?? null);
  }

  #missing(): Block[] {
    return this.#open.splice(0).map(({ id }): Block => {
      const content = "the result of this call is missing";
      return { type: "tool_result", tool_use_id: id, content, is_error: true };
    });
  }

  #release(): void {
    if (this.#open.length === 0) this.#sent.push(...this.#held.splice(0));
  }

  #closeCalls(): void {
    const content = this.#missing();
    if (content.length > 0) this.#sent.push({ role: "user", content });
    this.#release();
  }

  /** Trims the end of an unfinished last answer, which must not end with white space. */
  #trimEnd(): void {
    const at = this.#sent.findLastIndex(({ role }) => role !== "system");
    const last = this.#sent[at];
    if (last?.role !== "assistant") return;
    const content = listOf(last);
    const end = content.at(-1);
    if (end?.type !== "text") return;
    const text = String(end.text).trimEnd();
    this.#sent[at] = { ...last, content: [...content.slice(0, -1), { ...end, text }] };
  }
}

const hasResults = (message: Message | undefined): boolean =>
  message?.role === "user" && listOf(message).some(({ type }) => type === "tool_result");

/** Returns the well-formed blocks of a message, without empty blocks. */
function listOf({ content }: Message): Block[] {
  const blocks: Block[] =
    typeof content === "string" ? [{ type: "text", text: content }] : [...content];
  return blocks.map((block) => wellFormed(block)).filter((block) => !isEmpty(block));
}

function isEmpty({ type, text, thinking, signature, item }: Block): boolean {
  if (type === "text") return isBlank(text) && !isObject(item);
  return type === "thinking" && isBlank(thinking) && isBlank(signature) && !isObject(item);
}

/** Returns a message with these blocks, or the original message if its text is unchanged. */
const withContent = (message: Message, content: Block[]): Message =>
  typeof message.content === "string" && content[0]?.text === message.content
    ? message
    : { ...message, content };

const longestName = 64;

const nameOf = (name: unknown): string =>
  wordIn(name)
    .replace(/[^\w-]/g, "_")
    .slice(0, longestName) || "unnamed";

function inputOf({ input }: Block, exact: unknown): object {
  if (typeof exact === "string" && isObjectText(exact)) {
    return wellFormed(parseExact(exact, rawNumber)) as object;
  }
  return isObject(input) ? input : {};
}

function resultOf(block: Block, tool_use_id: string): Block {
  const { content } = block;
  const isNone = typeof content === "string" ? isBlank(content) : (content ?? null) === null;
  return { ...block, tool_use_id, ...(isNone && { content: noResult }) };
}

/** Converts a result whose call is missing to text. */
function strayResult(block: Block): Block {
  const { type, content } = block;
  if (type !== "tool_result") return block;
  const said = typeof content === "string" ? content : JSON.stringify(content ?? null);
  return { type: "text", text: `The result of a tool's call:\n${said}` };
}

/** Converts a call in a user's message to text. */
function strayCall(block: Block): Block {
  if (block.type !== "tool_use") return block;
  const called = JSON.stringify({ name: block.name, input: block.input });
  return { type: "text", text: `A tool's call: ${called}` };
}
