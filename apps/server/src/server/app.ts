import { OpenAPIHono } from "@hono/zod-openapi";
import { WorkflowError } from "@uncaged/workflow/host";
import type { ConsoleFiles } from "../console/console.ts";
import { isPagePath } from "../console/plain-page.ts";
import { limitBody, untypedAsJson } from "../guard/body.ts";
import { errorResponseTo } from "../guard/error-response.ts";
import { controlRoutes } from "../routes/control.ts";
import { eventRoutes } from "../routes/events.ts";
import { type Context, Routes } from "../routes/route.ts";
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

/** All routes put together: the API under /api, runs under /workflow, and the console everywhere else. */
export function makeApp(context: Context, files: ConsoleFiles) {
  const { version, startedAt } = context;
  const own = new Routes("Server");
  own.add("GET /server", {
    summary: "Which server this is, and since when it runs",
    answer: ["The server.", serverSchema],
    run: () => ({ name: "uncaged-workflow" as const, version, startedAt }),
  });
  const api = new OpenAPIHono();
  api.use(limitBody);
  const groups = [threadRoutes, controlRoutes, eventRoutes, workflowRoutes];
  for (const routes of [own.app, ...groups.map((group) => group(context))]) api.route("/", routes);

  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
  });
  app.route("/api", api);
  app.use("/workflow/*", limitBody, untypedAsJson);
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
    const { method, path } = c.req;
    const message = `there is no ${method} ${path.slice(0, 200)}`;
    throw WorkflowError.missing("NO_SUCH_PATH", message, "see /api/openapi.json for what there is");
  });
  app.onError((error, c) => {
    const { status, body } = errorResponseTo(c.req.raw, error, context.host.root);
    if (status === 500) console.error(error);
    return c.json(body, status);
  });
  return app;
}
