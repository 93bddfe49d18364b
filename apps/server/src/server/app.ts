import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ConsoleFiles } from "../console/console.ts";
import { isPagePath } from "../console/plain-page.ts";
import { mostOf, tooLarge } from "../guard/body.ts";
import { noSuchPath } from "../guard/refusal.ts";
import { routes } from "../routes/answers.ts";
import type { Context } from "../routes/context.ts";
import { controlRoutes } from "../routes/control.ts";
import { eventRoutes } from "../routes/events.ts";
import { serverRoutes } from "../routes/server.ts";
import { threadRoutes } from "../routes/threads.ts";
import { valueRoutes } from "../routes/values.ts";
import { workflowRoutes } from "../routes/workflows.ts";
import { refusalTo } from "../runs/refusal.ts";
import { runRoutes } from "../runs/runs.ts";

const about = {
  title: "uncaged-workflow",
  description:
    "Workflows and their threads, over one storage root. Every request needs the token: " +
    "Authorization: Bearer, or the cookie that the printed URL sets.",
};

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
  api.route("/", serverRoutes(context));
  api.route("/", threadRoutes(context));
  api.route("/", controlRoutes(context));
  api.route("/", eventRoutes(context));
  api.route("/", valueRoutes(context));
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
    info: { ...about, version: context.version },
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
    const { status, body } = refusalTo(c.req.raw, error, context.root);
    if (status === 500) console.error(error);
    return c.json(body, status);
  });
  return app;
}
