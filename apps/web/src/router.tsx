import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { ApiError, request } from "./lib/request.ts";
import {
  readAddSearch,
  readThreadSearch,
  readThreadsSearch,
  readWorkflowSearch,
} from "./lib/search.ts";
import { NoPage, PageFailure, Shell } from "./pages/shell.tsx";
import { ThreadsPage } from "./pages/threads/threads-page.tsx";
import { Skeleton } from "./ui/states.tsx";

/** A page in a part of its own, which is loaded when it is asked for. */
const pageOf = <Module extends object, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(async () => {
    try {
      return await load();
    } catch {
      // A server that is reached gives the reason.
      const refusal = await request("/server").catch((error: unknown) => error);
      if (refusal instanceof ApiError && refusal.status !== 0) throw refusal;
      throw new ApiError(0, {
        code: "NOT_REACHED",
        message: "this page can't be loaded",
        hint: "start the server again: uncaged-workflow serve",
      });
    }
  }, name);

const root = createRootRoute({ component: Shell, notFoundComponent: NoPage });

const threads = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: readThreadsSearch,
  component: ThreadsPage,
});

const thread = createRoute({
  getParentRoute: () => root,
  path: "/threads/$id",
  validateSearch: readThreadSearch,
  component: pageOf(() => import("./pages/thread/thread-page.tsx"), "ThreadPage"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/threads/$id/compare/$other",
  component: pageOf(() => import("./pages/compare/compare-page.tsx"), "ComparePage"),
});

const workflows = createRoute({
  getParentRoute: () => root,
  path: "/workflows",
  component: pageOf(() => import("./pages/workflows/workflows-page.tsx"), "WorkflowsPage"),
});

const workflow = createRoute({
  getParentRoute: () => root,
  path: "/workflows/$name",
  validateSearch: readWorkflowSearch,
  component: pageOf(() => import("./pages/workflow/workflow-page.tsx"), "WorkflowPage"),
});

const add = createRoute({
  getParentRoute: () => root,
  path: "/add",
  validateSearch: readAddSearch,
  component: pageOf(() => import("./pages/add/add-page.tsx"), "AddPage"),
});

/** The pages, by their paths. All but the first are loaded when they are asked for. */
export const router = createRouter({
  routeTree: root.addChildren([threads, thread, compare, workflows, workflow, add]),
  defaultErrorComponent: PageFailure,
  defaultPendingComponent: () => <Skeleton />,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
