import { createRoute, OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { Host } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import type { Context as Call, MiddlewareHandler } from "hono";
import { z } from "zod";
import { checkDepth } from "../guard/body.ts";
import { violation } from "../guard/error-response.ts";
import { admittedTo, needs, type Role } from "../guard/role.ts";
import { failureSchema } from "../schema/server.ts";
import type { Feed } from "../stream/feed.ts";
import type { Streams } from "../stream/streams.ts";
import type { Drafts } from "./drafts.ts";

/** The context that all routes share. */
export type Context = {
  host: Host;
  /** The server's environment and folder, for threads that it starts. */
  env: Record<string, string>;
  cwd: string;
  drafts: Drafts;
  streams: Streams;
  /** The feed of the changes of the host. */
  changes: Pick<Feed, "listen">;
  /** The feed of the changes of plans. */
  plans: Pick<Feed, "listen">;
};

type Responses = RouteConfig["responses"];

const json = (schema: z.ZodType) => ({ "application/json": { schema } });

export const refusals = (schema: z.ZodType, descriptions: Record<number, string>): Responses =>
  Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      status,
      { description, content: json(schema) },
    ]),
  );

const usualRefusals = refusals(failureSchema, {
  400: "The request is invalid.",
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's, or the token's role is too low.",
  404: "Not found.",
  408: "The body is sent too slowly.",
  409: "The current state does not allow this.",
  413: "The body is too large.",
  429: "Too many concurrent requests.",
});

export const allRead: Responses = {
  204: { description: "The client has read everything up to the end and need not reconnect." },
};

const tooMany = {
  description: "Too many streams are open.",
  headers: z.object({ "Retry-After": z.string().describe("Seconds until the next attempt.") }),
};

/** An endpoint: its input, its answer and its handler. Undeclared query parameters are refused. */
type Endpoint<Params, Query, Body, Answer> = {
  summary: string;
  /** The role that a token needs. Default: `read` for GET, else `operate`. */
  role?: Role;
  params?: Params;
  query?: Query;
  headers?: z.ZodObject;
  body?: Body;
  /** An optional body. An empty body is the default. */
  optionalBody?: Body;
  /** A body other than JSON, as described in OpenAPI. */
  upload?: NonNullable<RouteConfig["request"]>["body"];
  /** The description of the answer, its schema, and its content type unless it is JSON. */
  answer: [description: string, schema: Answer, type?: string];
  answerHeaders?: z.ZodObject;
  status?: 200 | 201;
  others?: Responses;
  /** The documented message for a body that does not match its schema. */
  invalid?: string;
  run(
    given: { params: z.output<Params>; query: z.output<Query>; body: z.output<Body> },
    call: Call,
  ): z.input<Answer> | Response | Promise<z.input<Answer> | Response>;
};

/** Skips the body of a request of length 0, for any content type. */
const withoutBody: MiddlewareHandler = async (call, next) => {
  const { headers } = call.req.raw;
  const isEmpty = Number(headers.get("content-length") ?? 0) === 0;
  if (isEmpty && !headers.has("transfer-encoding")) {
    const other = new Headers(headers);
    other.delete("content-type");
    call.req.raw = new Request(call.req.raw, { headers: other });
  }
  await next();
};

/**
 * Records the thread of a request for the audit log. Takes the id from the answer, because the path may abbreviate the
 * id.
 */
function noteThread(call: Call, answer: unknown): void {
  const named = isRecord(answer) ? (answer.threadId ?? answer.runID ?? answer.runId) : undefined;
  if (typeof named === "string") admittedTo(call).noted.thread = named;
}

export class Routes {
  readonly app = new OpenAPIHono();
  readonly #tag: string;
  readonly #refusals: Responses;

  constructor(tag: string, refused = usualRefusals) {
    this.#tag = tag;
    this.#refusals = refused;
  }

  /** Adds a route that refuses input that does not match its schema or is nested too deeply. */
  add<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType, A extends z.ZodType>(
    route: `${"GET" | "POST" | "DELETE"} /${string}`,
    endpoint: Endpoint<P, Q, B, A>,
  ): void {
    const [method = "", path = ""] = route.split(" ");
    const { summary, params, headers, body, optionalBody, status = 200 } = endpoint;
    const role = endpoint.role ?? (method === "GET" ? "read" : "operate");
    const query = (endpoint.query ?? z.object({})).strict();
    const [description, schema, type = "application/json"] = endpoint.answer;
    const required = body && { content: json(body), required: true };
    const optional = optionalBody && { content: json(optionalBody) };
    const config: RouteConfig = {
      method: method.toLowerCase() as RouteConfig["method"],
      path,
      tags: [this.#tag],
      summary,
      "x-role": role,
      middleware: [needs(role), ...(optionalBody ? [withoutBody] : [])],
      request: { params, query, headers, body: required ?? optional ?? endpoint.upload },
      responses: {
        ...this.#refusals,
        ...(type === "text/event-stream" && { 503: { ...this.#refusals[401], ...tooMany } }),
        ...endpoint.others,
        [status]: { description, content: { [type]: { schema } }, headers: endpoint.answerHeaders },
      },
    };
    const schemas = { query, json: body ?? optionalBody, param: params };
    const handle = async (call: Call) => {
      const valid = (target: string): unknown => call.req.valid(target as never);
      const answer = await endpoint.run(
        {
          params: valid("param") as z.output<P>,
          query: valid("query") as z.output<Q>,
          body: valid("json") as z.output<B>,
        },
        call,
      );
      noteThread(call, answer);
      return answer instanceof Response ? answer : call.json(answer as never, status);
    };
    this.app.openapi(createRoute(config), handle, (result) => {
      const { target } = result;
      if (!result.success) {
        const wanted = schemas[target as keyof typeof schemas];
        throw violation(target, result.error, wanted, endpoint.invalid);
      }
      if (target === "json") checkDepth(result.data);
    });
  }
}
