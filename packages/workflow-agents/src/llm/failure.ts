import { wordIn } from "../content/sent.ts";
import { type Fields, isObject } from "../run/error.ts";
import type { HttpFailure } from "./error.ts";

/*
 * Reads the error of a model service, whatever it is wrapped in: an error object or its text (OpenAI, Anthropic, xAI),
 * a list of one (Gemini), a top-level message (Mistral, Bedrock) or `detail` (FastAPI), the error of the service behind
 * a gateway (OpenRouter), a web page.
 */

/** The error in the body of a response that is not OK. */
export function failureInBody(text: string, status: number): HttpFailure {
  const value = jsonIn(text);
  const failure = failureIn(value === undefined ? pageText(text) : value);
  return { ...failure, status, message: failure.message || (value === undefined ? "" : text) };
}

/** An error that a service reports in JSON. `message` is empty where it gives no reason. */
export function failureIn(value: unknown): HttpFailure {
  const body = Array.isArray(value) ? (value as unknown[])[0] : value;
  const around = isObject(body) ? body : {};
  const error: Fields = isObject(around.error) ? around.error : {};
  const given = [around.error, error.message, around.message, around.detail].map(textIn);
  const said = [wordIn(body).trim(), ...given];
  const message = said.find((one) => one !== "") ?? "";
  const raw = isObject(error.metadata) ? error.metadata.raw : undefined;
  const inner = raw === undefined ? "" : failureIn(jsonIn(raw) ?? raw).message;
  const fields = [error, around];
  const words = fields.flatMap(({ code, type, status, error_type: kind }) =>
    [code, type, status, kind].map(wordIn),
  );
  const numbers = fields.flatMap(({ code, status }) => [code, status].map(Number));
  return {
    kind: "http",
    status: 0,
    // Some have the status of an error within an answer that began with another.
    answered: numbers.find((one) => one >= 400 && one < 600) ?? 0,
    word: words.find((word) => /^[a-z][\w.-]{2,63}$/i.test(word) && word !== "error") ?? "",
    message: [message, inner].filter((one) => one !== "").join(": "),
    retryAfterMs: delayIn(error.details),
  };
}

/** A text, also of an object that holds one or stands in place of one. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value)) return value.length > 0 ? JSON.stringify(value) : "";
  if (!isObject(value)) return "";
  return wordIn(value.message) || ("detail" in value ? JSON.stringify(value) : "");
}

/** How long Google's services ask to wait, in milliseconds. */
function delayIn(details: unknown): number | null {
  const list: unknown[] = Array.isArray(details) ? details : [];
  const delays = list.map((one) => wordIn(isObject(one) ? one.retryDelay : ""));
  const seconds = delays.find((one) => /^\d{1,9}(\.\d+)?s$/.test(one));
  return seconds === undefined ? null : Number.parseFloat(seconds) * 1000;
}

/** The title of a web page, or the words in it; another text as it is. */
function pageText(text: string): string {
  if (!/^\s*<(!doctype|html|head|body)/i.test(text)) return text;
  const [, title = ""] = /<title[^>]*>([^<]+)<\/title>/i.exec(text) ?? [];
  return title || text.replace(/<[^>]*>/g, " ");
}

function jsonIn(text: unknown): unknown {
  try {
    return typeof text === "string" ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
