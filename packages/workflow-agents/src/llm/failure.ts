import { wordIn } from "../content/sent.ts";
import { type Fields, isObject } from "../run/error.ts";
import type { HttpFailure } from "./error.ts";

/*
 * Reads the errors of model services in all known formats: an error object or string (OpenAI, Anthropic, xAI), a list
 * with one error (Gemini), a top-level message (Mistral, Bedrock) or `detail` (FastAPI), the error of the service
 * behind a gateway (OpenRouter), and a web page.
 */

/** Returns the error in the body of a failed response. */
export function failureInBody(text: string, status: number): HttpFailure {
  const value = jsonIn(text);
  const failure = failureIn(value === undefined ? pageText(text) : value);
  return { ...failure, status, message: failure.message || (value === undefined ? "" : text) };
}

/** Returns an error that a service reports in JSON. `message` is empty if the JSON does not contain a reason. */
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
    // An error within an answer may have its own status, which differs from the status of the response.
    answered: numbers.find((one) => one >= 400 && one < 600) ?? 0,
    word: words.find((word) => /^[a-z][\w.-]{2,63}$/i.test(word) && word !== "error") ?? "",
    message: [message, inner].filter((one) => one !== "").join(": "),
    retryAfterMs: delayIn(error.details),
  };
}

/** Returns a string, or the text in an object that was sent instead of a string. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value)) return value.length > 0 ? JSON.stringify(value) : "";
  if (!isObject(value)) return "";
  return wordIn(value.message) || ("detail" in value ? JSON.stringify(value) : "");
}

/** Returns the delay that Google's services request, in milliseconds. */
function delayIn(details: unknown): number | null {
  const list: unknown[] = Array.isArray(details) ? details : [];
  const delays = list.map((one) => wordIn(isObject(one) ? one.retryDelay : ""));
  const seconds = delays.find((one) => /^\d{1,9}(\.\d+)?s$/.test(one));
  return seconds === undefined ? null : Number.parseFloat(seconds) * 1000;
}

/** Returns the title or the text of a web page, and any other text unchanged. */
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
