import { createParser } from "eventsource-parser";
import { parseExact, rawNumber } from "@uncaged/workflow/interpreter";
import { isObject } from "../run/error.ts";
import { StreamFailure } from "./error.ts";
import { failureIn } from "./failure.ts";

/** A part of a response body: an event with its name and JSON, a complete answer as one document, or the end mark. */
export type Received =
  | { kind: "event"; name: string; value: unknown }
  | { kind: "document"; value: unknown }
  | { kind: "done" };

/** Thrown for a response body, or a part of the body, that is not JSON. */
export class NotJson extends Error {}

/**
 * Yields the parts of a response body with any content type: server-sent events with JSON, one JSON document, a JSON
 * array of events, or one event per line. Drops an event that the end of the connection cuts off.
 *
 * @throws NotJson; StreamFailure for an error that the service reports; errors of the body.
 */
export async function* receivedIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Received> {
  const texts = textsIn(body);
  try {
    let head = "";
    while (head.trim() === "") {
      const next = await texts.next();
      if (next.done) return;
      head += next.value;
    }
    yield* /^\s*(?:[[{"\d-]|null|true|false)/.test(head)
      ? documentsIn({ head, texts })
      : streamIn({ head, texts });
  } finally {
    await texts.return(undefined);
  }
}

type Texts = { head: string; texts: AsyncGenerator<string> };

async function* textsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let isRead = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
    isRead = true;
    yield decoder.decode();
  } finally {
    // A body that failed cannot be cancelled.
    if (!isRead) await reader.cancel().catch(() => undefined);
  }
}

async function* streamIn({ head, texts }: Texts): AsyncGenerator<Received> {
  const messages: { event?: string | undefined; data: string }[] = [];
  let [isStream, isOther] = [false, false];
  const parser = createParser({
    onEvent(message) {
      messages.push(message);
      isStream = true;
    },
    onError() {
      isOther = true;
    },
  });
  parser.feed(head);
  for (;;) {
    for (const { event = "", data } of messages.splice(0)) yield* receivedOf(event, data);
    const next = await texts.next();
    if (next.done) break;
    parser.feed(next.value);
  }
  // The last event may lack its line end, or the empty line after it.
  parser.feed("\n\n");
  for (const { event = "", data } of messages) {
    if (piecesIn(data).every(isPiece)) yield* receivedOf(event, data);
  }
  // A body with other lines is a stream only if it also has events.
  if (isOther && !isStream) throw new NotJson();
}

async function* documentsIn({ head, texts }: Texts): AsyncGenerator<Received> {
  const pieces = [head];
  for await (const text of texts) pieces.push(text);
  const text = pieces.join("");
  const whole = isJson(text) ? text : null;
  if (whole === null) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    if (!isJson(lines[0] ?? "")) throw new NotJson();
    for (const line of lines.filter(isJson)) yield eventOf("", jsonOf(line));
    return;
  }
  const value = jsonOf(whole);
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  for (const one of list) {
    const event = eventOf("", one);
    yield list.length > 1 ? event : { kind: "document", value: one };
  }
}

const isDone = (data: string): boolean => data.trim() === "[DONE]";

const isPiece = (data: string): boolean => isJson(data) || isDone(data);

/**
 * Returns the JSON texts in an event's data. If a server omits the empty line after events, several events are read as
 * one.
 */
function piecesIn(data: string): string[] {
  if (!data.includes("\n") || isPiece(data)) return [data];
  const lines = data.split("\n").filter((line) => line.trim() !== "");
  return lines.every(isPiece) ? lines : [data];
}

function receivedOf(name: string, data: string): Received[] {
  // An empty event only keeps the connection alive.
  if (data.trim() === "") return [];
  return piecesIn(data).map((piece) =>
    isDone(piece) ? { kind: "done" } : eventOf(name, jsonOf(piece)),
  );
}

function eventOf(name: string, value: unknown): Received {
  refuseFailure(name, value);
  return { kind: "event", name, value };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.trim());
    return true;
  } catch {
    return false;
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseExact(text.trim(), rawNumber);
  } catch {
    throw new NotJson();
  }
}

/** Checks an event. @throws StreamFailure for an error in the format of any of the protocols. */
function refuseFailure(name: string, value: unknown): void {
  if (!isObject(value)) {
    if (name === "error") throw failed(value);
    return;
  }
  const { error, type } = value;
  const isSaid =
    error === true ||
    (typeof error === "string" ? error !== "" : isObject(error) && hasWords(error));
  if (name === "error" || type === "error" || isSaid) throw failed(value);
}

const hasWords = (error: object): boolean => Object.values(error).some((one) => one !== null);

function failed(value: unknown): StreamFailure {
  const failure = failureIn(value);
  const message = failure.message || "the answer failed without a reason";
  return new StreamFailure({ ...failure, message });
}
