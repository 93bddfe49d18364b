import { WorkflowError } from "@uncaged/workflow";
import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import { LLMError, typeOfStatus } from "../adapter/error.ts";
import type { ApiDocument } from "../document/document.ts";
import { nameOf } from "../document/name.ts";
import { adapterOf, untilAborted } from "./adapter-call.ts";
import { headersOf } from "./api-headers.ts";
import type { Call, Called } from "./call.ts";
import { badField, fieldOf, recordField, timeoutField } from "./field.ts";
import { plain } from "./plain.ts";
import { summary } from "./summary.ts";

type Answer = Awaited<ReturnType<ApiAdapter["request"]>>;

/**
 * Calls an endpoint of the registry with `body`, `query`, `pathParams`, `headers` and `timeout` (ms) of
 * the step's `in`. `_result` is the answer's data, `_meta` its status and headers.
 *
 * @throws LLMError of the status' type when the status is 400 or more.
 */
export async function callApi(call: Call): Promise<Called> {
  const api = apiOf(call);
  const timeout = timeoutField(call);
  const query = recordField(call, "query");
  const body = fieldOf(call, "body");
  const { status, headers, data } = await answerOf(call, {
    id: api.id,
    method: (api.method ?? "GET").toUpperCase(),
    url: urlOf(call, String(call.value(api.url))),
    headers: headersOf(call, api),
    ...(query && { query }),
    ...(body !== undefined && { body }),
    ...(timeout !== undefined && { timeout }),
    signal: call.signal,
  });
  if (data instanceof Uint8Array) {
    throw badField(call, `${api.id} answered with bytes: fetch them with a Download step`);
  }
  const _result = plain(data, `the API ${api.id}`);
  return { locals: { _result, _meta: plain({ status, headers }, `the API ${api.id}`) } };
}

/**
 * What an API adapter answers to a request.
 * @throws LLMError of the status' type when the status is 400 or more.
 */
export async function answerOf(call: Call, request: ApiRequest): Promise<Answer> {
  const api = adapterOf(call, "api");
  const answer = await untilAborted(call.signal, () => api.request(request));
  const { status } = answer;
  if (!(status >= 400)) return answer;
  const says = answer.data instanceof Uint8Array ? "" : summary(answer.data);
  const message = `${request.id} answered ${status}${says && `: ${says}`}`;
  throw new LLMError(typeOfStatus(status), message, { code: `HTTP_${status}`, status });
}

function apiOf({ registry, step }: Call): ApiDocument {
  const apis = registry.apis ?? [];
  const id = nameOf(
    step.id,
    apis.map((one) => one.id),
  );
  const api = apis.find((one) => one.id === id);
  if (api) return api;
  throw new WorkflowError({
    code: "API_UNKNOWN",
    kind: "failed",
    message: `${step.id}: the registry has no API ${id}`,
    hint: `declare it in registry.apis: {"id": "${id}", "method": "GET", "url": "https://…"}`,
  });
}

// `{name}` anywhere, or a whole segment `:name`; the colon of a port or a scheme is neither.
const place = /\{(\w+)\}|(?<=\/):([A-Za-z_]\w*)/g;

function urlOf(call: Call, url: string): string {
  const params = recordField(call, "pathParams") ?? {};
  return url.replace(place, (_, braced?: string, colon?: string) => {
    const name = braced ?? colon ?? "";
    const given = Object.hasOwn(params, name) ? params[name] : undefined;
    if (typeof given === "string" && given !== "") return segment(call, name, given);
    if (typeof given === "number" || typeof given === "boolean") return String(given);
    throw badField(call, `its pathParams have no ${name}`);
  });
}

function segment(call: Call, name: string, given: string): string {
  // A URL takes these for steps up, however they are written.
  if (given === "." || given === "..")
    throw badField(call, `its pathParams lead away with ${name}`);
  return encodeURIComponent(given);
}
