import { OpenAPIHono } from "@hono/zod-openapi";
import type { Host } from "@uncaged/workflow/host";
import type { z } from "zod";
import { checkDepth } from "../guard/body.ts";
import { violation } from "../guard/error-response.ts";
import { failureSchema } from "../schema/server.ts";
import type { ChangeFeed } from "../stream/changes.ts";
import type { Connections } from "../stream/connections.ts";
import type { ThreadFeeds } from "../stream/listener.ts";
import type { Spendings } from "./spent.ts";

const refusals = {
  400: "The request is wrong.",
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's.",
  404: "There is no such thing.",
  409: "It can't be done as things are.",
  413: "The body is too large.",
  429: "Too many at once.",
} as const;

const json = <Schema extends z.ZodType>(schema: Schema) => ({ "application/json": { schema } });

const refused = Object.fromEntries(
  Object.entries(refusals).map(([status, description]) => [
    status,
    { description, content: json(failureSchema) },
  ]),
);

/** The responses of a route: on success, and its errors. */
export const answers = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  headers?: z.ZodObject,
) => ({
  ...refused,
  200: { description, content: json(schema), ...(headers && { headers }) },
});

/** As {@link answers}, for a route that creates something. */
export const makes = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  ...refused,
  201: { description, content: json(schema) },
});

/** As {@link answers}, for a route whose success is not JSON. */
export const sends = (description: string, type: string, schema: z.ZodType) => ({
  ...refused,
  200: { description, content: { [type]: { schema } } },
});

export const body = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { content: json(schema), required: true },
});

export const optionalBody = <Schema extends z.ZodType>(schema: Schema) => ({
  body: { content: json(schema) },
});

/** A group of routes; what does not match its schema, or is nested too deeply, is refused. */
export const routes = (): OpenAPIHono =>
  new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw violation(result.target, result.error);
      if (result.target === "json") checkDepth(result.data);
    },
  });

/** What the routes share. All of it is a view of the storage root. */
export type Context = {
  host: Host;
  /** The environment and the folder of threads that are started here: the server's own. */
  env: Record<string, string>;
  cwd: string;
  version: string;
  startedAt: number;
  threadFeeds: ThreadFeeds;
  changes: ChangeFeed;
  connections: Connections;
  spendings: Spendings;
};
