import { queryOptions } from "@tanstack/react-query";
import type { Failure, RunFailure } from "@uncaged/workflow-server/api-types";

/** An error response with the server's message. Status 0 means that the server was unreachable. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly details: readonly string[];

  constructor(status: number, { code, message, hint, details = [] }: Failure["error"]) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

export type RequestQuery = Record<
  string,
  string | number | boolean | readonly string[] | undefined
>;

type Request = {
  root?: "/api" | "/workflow";
  method?: "GET" | "POST" | "DELETE";
  query?: RequestQuery;
  json?: unknown;
  file?: Blob;
  signal?: AbortSignal;
};

/**
 * Sends a request. `path` is relative to the root, with encoded parts: see {@link pathOf}.
 * @throws ApiError if the server refuses or is unreachable.
 */
export async function request<Answer>(path: string, options: Request = {}): Promise<Answer> {
  const response = await send(path, options);
  return (await response.json()) as Answer;
}

export const queryOf = <Answer>(queryKey: readonly unknown[], path: string, query?: RequestQuery) =>
  queryOptions({ queryKey, queryFn: ({ signal }) => request<Answer>(path, { query, signal }) });

/** A page of a list. `total` counts all pages; null if counting would take too long. */
export type Listed<Row> = { rows: Row[]; total: number | null; hasMore: boolean };

/** Like {@link request}, for a page of a list. */
export async function requestPage<Row>(path: string, options: Request = {}): Promise<Listed<Row>> {
  const response = await send(path, options);
  const total = response.headers.get("X-Total-Count");
  return {
    rows: (await response.json()) as Row[],
    total: total === null ? null : Number(total),
    hasMore: response.headers.get("Link")?.includes('rel="next"') ?? false,
  };
}

/** Like {@link request}, for a text. */
export async function requestText(path: string, options: Request = {}): Promise<string> {
  const response = await send(path, options);
  return await response.text();
}

/** Like {@link request}, for a stream. */
export async function requestStream(
  path: string,
  options: Request = {},
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { body } = await send(path, options);
  return body ?? new ReadableStream({ start: (controller) => controller.close() });
}

/**
 * Loads a part of the console.
 * @throws ApiError if the server refuses or is unreachable.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch {
    // If the server responds with an error, show that error.
    const refusal = await request("/server").catch((error: unknown) => error);
    if (refusal instanceof ApiError && refusal.status !== 0) throw refusal;
    throw new ApiError(0, {
      code: "NOT_REACHED",
      message: "this part of the console can't be loaded",
      hint: "start the server again: uncaged-workflow serve",
    });
  }
}

/** A path of encoded parts: `pathOf("threads", id, "steps")`. */
export const pathOf = (...parts: string[]): string =>
  `/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

async function send(path: string, options: Request): Promise<Response> {
  const { root = "/api", method = "GET", query = {}, json, file, signal } = options;
  const type = file ? "application/octet-stream" : "application/json";
  const body = file ?? (json === undefined ? null : JSON.stringify(json));
  const headers = { ...(body !== null && { "Content-Type": type }) };
  let response: Response;
  try {
    const url = `${root}${path}${searchOf(query)}`;
    response = await (takeEarly(url) ?? fetch(url, { method, headers, body, signal }));
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, {
      code: "NOT_REACHED",
      message: "the server can't be reached",
      hint: "start it again: uncaged-workflow serve",
    });
  }
  if (response.ok) return response;
  throw await refusalOf(response);
}

/** The response to a request that public/early.js has sent; null for other requests, and for a repeated call. */
function takeEarly(url: string): Promise<Response> | null {
  const page = globalThis as { early?: { url: string; response: Promise<Response> } };
  if (page.early?.url !== url) return null;
  const { response } = page.early;
  delete page.early;
  return response;
}

function searchOf(query: RequestQuery): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? []].flat()) params.append(name, String(one));
  return params.size > 0 ? `?${params.toString()}` : "";
}

async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Failure | RunFailure | null;
  if (typeof body?.error === "object") return new ApiError(response.status, body.error);
  if (body && "error" in body) return runRefusalOf(response.status, body as RunFailure);
  const message = `the server answered with the status ${response.status}`;
  return new ApiError(response.status, { code: "BAD_ANSWER", message, hint: "try again" });
}

// Errors of /workflow/run are plain texts.
function runRefusalOf(status: number, refusal: RunFailure): ApiError {
  const { error: message, code = "REFUSED", hint = null, messages: details } = refusal;
  return new ApiError(status, { code, message, hint, ...(details && { details }) });
}
