import { createRoute } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ConsoleFiles } from "../console/console.ts";
import { isPagePath } from "../console/plain-page.ts";
import { mostOf, tooLarge } from "../guard/body.ts";
import { noSuchPath, errorResponseTo } from "../guard/error-response.ts";
import { controlRoutes } from "../routes/control.ts";
import { eventRoutes } from "../routes/events.ts";
import { answers, type Context, routes } from "../routes/route.ts";
import { threadRoutes } from "../routes/threads.ts";
import { workflowRoutes } from "../routes/workflows.ts";
import { runRoutes } from "../runs/run-routes.ts";
import { serverSchema } from "../schema/server.ts";

const info = {
  title: "uncaged-workflow",
  description:
    "Workflows and their threads, over one storage root. Every request needs the token: " +
    "Authorization: Bearer, or the cookie that the printed URL sets.",
};

const about = createRoute({
  method: "get",
  path: "/server",
  tags: ["Server"],
  summary: "Which server this is, and since when it runs",
  responses: answers("The server.", serverSchema),
});

const limited: MiddlewareHandler = (c, next) => {
  const maxSize = mostOf(c.req.raw);
  const onError = () => {
    throw tooLarge(maxSize);
  };
  return bodyLimit({ maxSize, onError })(c, next);
};

/** All routes put together: the API under /api, runs under /workflow, and the console everywhere else. */
export function makeApp(context: Context, files: ConsoleFiles) {
  const api = routes();
  api.use(limited);
  const { version, startedAt } = context;
  api.openapi(about, (c) => c.json({ name: "uncaged-workflow" as const, version, startedAt }, 200));
  api.route("/", threadRoutes(context));
  api.route("/", controlRoutes(context));
  api.route("/", eventRoutes(context));
  api.route("/", workflowRoutes(context));

  const app = routes();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
  });
  app.route("/api", api);
  app.use("/workflow/*", limited);
  app.route("/workflow", runRoutes(context));
  app.doc31("/api/openapi.json", {
    openapi: "3.1.0",
    info: { ...info, version },
    security: [{ token: [] }],
  });
  app.get("*", (c, next) => {
    const { path } = c.req;
    return isPagePath(path) ? files.answer(path, c.req.raw.headers) : next();
  });
  app.notFound((c) => {
    throw noSuchPath(c.req.method, c.req.path);
  });
  app.onError((error, c) => {
    const { status, body } = errorResponseTo(c.req.raw, error, context.host.root);
    if (status === 500) console.error(error);
    return c.json(body, status);
  });
  return app;
}
