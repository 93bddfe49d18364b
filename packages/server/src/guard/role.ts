import type { AnsweredBy } from "@uncaged/workflow/host";
import type { Context as Call, Handler, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { roleTooLow } from "./errors.ts";

/** The roles of tokens. Each role includes the rights of the roles before it. */
export const roles = ["read", "answer", "operate"] as const;
export type Role = (typeof roles)[number];

/** The client of a request. The storage root's own token has no name. */
export type Caller = { name: string | null; role: Role; via: "console" | "api" };

/** The environment of each request in the routes. */
export type Admitted = {
  caller: Caller;
  /** The thread of the request, and the role that the request needs, for the audit log. */
  noted: { thread?: string | undefined; needed?: Role };
};

const rolesByHandler = new WeakMap<object, Role>();
const passing = new WeakSet<object>();

/** Declares the role that a route needs. Must be the route's first handler. */
export function needs(role: Role): MiddlewareHandler {
  const declared: MiddlewareHandler = (_call, next) => next();
  rolesByHandler.set(declared, role);
  return declared;
}

/** Marks middleware that only prepares requests for routes, so that it needs no role. */
export function preparing<H extends Handler | MiddlewareHandler>(handler: H): H {
  passing.add(handler);
  return handler;
}

/**
 * Refuses a request whose route needs a higher role. Must be the first handler of the application. A route without a
 * declared role needs `operate`.
 * @throws WorkflowError `ROLE_TOO_LOW`
 */
export const checkRole: MiddlewareHandler = preparing(async (call, next) => {
  const first = matchedRoutes(call).find(({ handler }) => !passing.has(handler));
  if (first) requireRole(call, rolesByHandler.get(first.handler) ?? "operate");
  await next();
});

/**
 * Refuses a caller with a lower role, where the role depends on the body.
 * @throws WorkflowError `ROLE_TOO_LOW`
 */
export function requireRole(call: Call, needed: Role): void {
  const {
    caller: { role },
    noted,
  } = admittedTo(call);
  noted.needed = needed;
  if (roles.indexOf(role) < roles.indexOf(needed)) throw roleTooLow(role, needed);
}

/** Returns the caller of a request, and the notes for the audit log. */
export const admittedTo = ({ env }: Call): Admitted => env as Admitted;

/** Names the client that sends an answer: the console, which has the cookie, or a program with a token. */
export function answererOf(call: Call): AnsweredBy {
  const { via, name } = admittedTo(call).caller;
  return { kind: via, ...(name !== null && { name }) };
}
