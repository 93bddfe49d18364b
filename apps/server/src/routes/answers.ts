import { OpenAPIHono } from "@hono/zod-openapi";
import type { z } from "zod";
import { checkDepth } from "../guard/body.ts";
import { misfit } from "../guard/refusal.ts";
import { failureShape } from "../shape/failure.ts";

const refusals = {
  400: "The request is wrong.",
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's.",
  404: "There is no such thing.",
  409: "It can't be done as things are.",
  413: "The body is too large.",
  429: "Too many at once.",
} as const;

const json = <Shape extends z.ZodType>(schema: Shape) => ({ "application/json": { schema } });

const refused = Object.fromEntries(
  Object.entries(refusals).map(([status, description]) => [
    status,
    { description, content: json(failureShape) },
  ]),
);

/** The answers of a route: what it gives when all is well, and how it refuses. */
export const answers = <Shape extends z.ZodType>(
  description: string,
  schema: Shape,
  headers?: z.ZodObject,
) => ({
  ...refused,
  200: { description, content: json(schema), ...(headers && { headers }) },
});

/** As {@link answers}, for what makes something new. */
export const makes = <Shape extends z.ZodType>(description: string, schema: Shape) => ({
  ...refused,
  201: { description, content: json(schema) },
});

/** The answers of a route that gives no JSON. */
export const sends = (description: string, type: string, schema: z.ZodType) => ({
  ...refused,
  200: { description, content: { [type]: { schema } } },
});

/** A body that must be there. */
export const body = <Shape extends z.ZodType>(schema: Shape) => ({
  body: { content: json(schema), required: true },
});

/** A body that may be left out. */
export const optionalBody = <Shape extends z.ZodType>(schema: Shape) => ({
  body: { content: json(schema) },
});

/** A group of routes; what does not fit a schema, or is nested too deeply, is refused. */
export const routes = (): OpenAPIHono =>
  new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw misfit(result.target, result.error);
      if (result.target === "json") checkDepth(result.data);
    },
  });
