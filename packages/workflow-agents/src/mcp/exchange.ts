import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { parseExact, rawNumber, roundedIn } from "@uncaged/workflow/interpreter";
import { kindOf, wordIn } from "../content/sent.ts";
import { type Fields, isObject, oneLine } from "../run/error.ts";
import { type Asked, resultIn } from "./reader.ts";

type Id = string | number;

/** The error code of an answer that was lost with its connection. The outcome of the request is unknown. */
export const lostAnswer = -32097;
const unreadable = -32096;
const longestPart = 2 ** 20;

/**
 * Reads the messages of one server for a client. An exchange keeps the open requests, so that it finds the request of
 * an answer even if the id is missing or of another type, and can read the answer by the request's method.
 *
 * 1. Each request gets one answer: a result that fits its method, or an error.
 * 2. An answer without a known id belongs to the only open request. While several requests are open, the answer is kept
 *    until only one request is open.
 * 3. An unreadable message is reported, and does not end the connection.
 */
export class Exchange {
  readonly #waiting = new Map<Id, Asked>();
  readonly #note: (problem: string) => void;
  /** For messages with numbers that parsing rounded, the same messages with all digits. */
  readonly #exact = new WeakMap<Fields, Fields>();
  #unclaimed: Fields[] = [];
  readonly #cursors = new Map<string, Set<unknown>>();
  #newest = -1;
  #part = "";

  constructor(note: (problem: string) => void) {
    this.#note = note;
  }

  /** Records a sent message. */
  sent(message: unknown): void {
    if (!isObject(message)) return;
    const { id, method, params } = message;
    const given = isObject(params) ? params : {};
    if (method === "notifications/cancelled") this.forget(given.requestId as Id);
    if (typeof method !== "string" || !isId(id)) return;
    if (typeof id === "number") this.#newest = Math.max(this.#newest, id);
    const cursors = this.#cursorsOf(method, given.cursor);
    this.#waiting.set(id, { method, params: given, cursors, note: this.#note });
  }

  /** Returns the cursors of a list so far. A request without a cursor restarts the list. */
  #cursorsOf(method: string, cursor: unknown): Set<unknown> {
    const cursors = (cursor !== undefined && this.#cursors.get(method)) || new Set();
    this.#cursors.set(method, cursors.add(cursor));
    return cursors;
  }

  /** Drops a cancelled request. */
  forget(id: Id): void {
    this.#waiting.delete(id);
  }

  isWaiting(id: Id): boolean {
    return this.#waiting.has(id);
  }

  /** Returns the messages in a line. A line of invalid JSON may be a part of a message that has several lines. */
  line(line: string, own?: Id): JSONRPCMessage[] {
    if (line.trim() === "") return [];
    const whole = this.parsed(line);
    const joined =
      whole === undefined && this.#part !== "" ? this.parsed(this.#part + line) : undefined;
    const value = whole ?? joined;
    if (value === undefined || (typeof value !== "object" && this.#part !== "")) {
      const isPart = this.#part !== "" || /^\s*[{[]/.test(line);
      this.#part = isPart ? `${this.#part}${line}\n` : "";
      if (isPart && this.#part.length <= longestPart) return [];
      this.#part = "";
      this.#stray(line);
      return [];
    }
    if (joined === undefined && this.#part !== "") this.#stray(this.#part);
    this.#part = "";
    return this.messages(value, own);
  }

  #stray(text: string): void {
    this.#note(`printed a line that is not a message: ${oneLine(text, 200)}`);
  }

  /** Returns the value of a JSON text, or undefined if it is not JSON. */
  parsed(given: string): unknown {
    const text = given.replace(/^\ufeff/, "");
    try {
      const value: unknown = JSON.parse(text);
      if (!roundedIn(text)) return value;
      const exact = listOf(parseExact(text, rawNumber));
      for (const [at, one] of listOf(value).entries()) {
        if (isObject(one)) this.#exact.set(one, exact[at] as Fields);
      }
      return value;
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the messages in a {@link parsed} value. `own` is the id of the request that the value answers, if known.
   */
  messages(value: unknown, own?: Id): JSONRPCMessage[] {
    const read = listOf(value).flatMap((one) => this.#message(one, own));
    return [...read, ...this.#claimed()];
  }

  /**
   * Returns an error as the answer to the request `own`. Without `own`, handles the error like an answer without an id.
   */
  failed(
    problem: string,
    { own, code = unreadable }: { own?: Id; code?: number } = {},
  ): JSONRPCMessage[] {
    const error = { code, message: problem };
    if (own === undefined) return this.messages({ jsonrpc: "2.0", error });
    if (!this.#waiting.delete(own)) return [];
    return [{ jsonrpc: "2.0", id: own, error }, ...this.#claimed()];
  }

  #message(value: unknown, own: Id | undefined): JSONRPCMessage[] {
    if (!isObject(value)) {
      this.#note(`sent ${kindOf(value)}, which is not a message`);
      return [];
    }
    if (own === undefined && !this.#isMessage(value)) {
      this.#stray(JSON.stringify(value));
      return [];
    }
    const { method } = value;
    const isAnswer = "result" in value || "error" in value;
    if (typeof method === "string" && method !== "" && !isAnswer) return asked(value, method);
    const id = this.#requestOf(value.id, own);
    if (id !== null) return [this.#answer(id, value)];
    if (typeof value.id === "number" && value.id <= this.#newest) {
      this.#note(`answered request ${value.id} again, or after it was cancelled`);
    } else {
      this.#unclaimed.push(value);
    }
    return [];
  }

  /** Returns whether an object is a message. Programs may also print logs in JSON. */
  #isMessage({ jsonrpc, id, method, result, error }: Fields): boolean {
    if (jsonrpc !== undefined) return true;
    if (result !== undefined || error !== undefined) return this.#requestOf(id, undefined) !== null;
    return typeof method === "string" && /^ping$|\//.test(method);
  }

  #requestOf(id: unknown, own: Id | undefined): Id | null {
    if (isId(id) && this.#waiting.has(id)) return id;
    const number = typeof id === "string" && id.trim() !== "" ? Number(id) : Number.NaN;
    if (this.#waiting.has(number)) return number;
    return own !== undefined && this.#waiting.has(own) ? own : null;
  }

  #claimed(): JSONRPCMessage[] {
    const waiting = [...this.#waiting].filter(([, { method }]) => !longLived.has(method));
    const [only] = waiting;
    if (waiting.length > 1 || this.#unclaimed.length === 0) return [];
    const [answer] = this.#unclaimed;
    const others = this.#unclaimed.length - (only ? 1 : 0);
    this.#unclaimed = [];
    if (others > 0) this.#note("answered a request that was not made");
    return only && answer ? [this.#answer(only[0], answer)] : [];
  }

  #answer(id: Id, given: Fields): JSONRPCMessage {
    const request = this.#waiting.get(id) as Asked;
    // In other answers, the bounds of a schema must stay numbers.
    const isTool = request.method === "tools/call";
    const { result, error } = (isTool && this.#exact.get(given)) || given;
    this.#waiting.delete(id);
    const isEmpty = !isObject(result) || Object.keys(result).length === 0;
    if (isSent(error) && (isEmpty || !isSent(result))) {
      return { jsonrpc: "2.0", id, error: errorIn(error) };
    }
    try {
      if (result === undefined && !allowsNothing.has(request.method)) {
        throw new Error("neither a result nor an error found");
      }
      return { jsonrpc: "2.0", id, result: resultIn(result, request) };
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      const message = `its answer to ${request.method} can't be read: ${why}`;
      return { jsonrpc: "2.0", id, error: { code: unreadable, message } };
    }
  }
}

// Requests that stay open until the connection ends, so an answer without an id does not belong to them.
const longLived = new Set(["subscriptions/listen"]);
const allowsNothing = new Set(["ping", "initialize"]);

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.flat(2) : [value]);

const isId = (id: unknown): id is Id => typeof id === "string" || typeof id === "number";

const isSent = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== "";

function errorIn(error: unknown): { code: number; message: string; data?: unknown } {
  const fields = isObject(error) ? error : { message: error };
  const { code: given, message, data } = fields;
  const number = typeof given === "string" ? Number(given) : given;
  const code = typeof number === "number" && Number.isSafeInteger(number) ? number : -32603;
  const said = typeof message === "string" ? message : jsonOf(message ?? data ?? error);
  return {
    code,
    message: said || "an error without a message",
    ...(data !== undefined && { data }),
  };
}

const jsonOf = (value: unknown): string => JSON.stringify(value) ?? "";

/** Returns a request or a notification of the server. */
function asked({ id, params }: Fields, method: string): JSONRPCMessage[] {
  const given = paramsIn(method, params);
  if (given === null) return [];
  const fields = { method, ...(Object.keys(given).length > 0 && { params: given }) };
  return [isId(id) ? { jsonrpc: "2.0", id, ...fields } : { jsonrpc: "2.0", ...fields }];
}

function paramsIn(method: string, params: unknown): Fields | null {
  const { _meta: meta, ...given } = isObject(params) ? params : {};
  const known = { ...given, ...(isObject(meta) && { _meta: metaIn(meta) }) };
  if (method !== "notifications/progress") return known;
  const { progressToken, progress, total, message } = given;
  const token = typeof progressToken === "string" ? Number(progressToken) : progressToken;
  if (!isCount(token) || !isCount(progress)) return null;
  return {
    ...{ progressToken: token, progress },
    ...(isCount(total) && { total }),
    ...(wordIn(message) !== "" && { message }),
  };
}

const isCount = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);

function metaIn({ progressToken, ...others }: Fields): Fields {
  return isId(progressToken) ? { ...others, progressToken } : others;
}
