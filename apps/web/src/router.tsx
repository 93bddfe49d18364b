import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { loadPart } from "./lib/request.ts";
import {
  readAddSearch,
  readEvalSearch,
  readInboxSearch,
  readPlannerSearch,
  readStepsSearch,
  readThreadSearch,
  readThreadsSearch,
  readWorkflowSearch,
} from "./lib/search.ts";
import { NoPage, PageFailure, Shell } from "./pages/shell.tsx";
import { ThreadsPage } from "./pages/threads/threads-page.tsx";
import { Skeleton } from "./ui/states.tsx";

/** A lazily loaded page. */
const pageOf = <Module extends object, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) => lazyRouteComponent(() => loadPart(load), name);

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

const inbox = createRoute({
  getParentRoute: () => root,
  path: "/inbox",
  validateSearch: readInboxSearch,
  component: pageOf(() => import("./pages/inbox/inbox-page.tsx"), "InboxPage"),
});

const evals = [
  createRoute({
    getParentRoute: () => root,
    path: "/evals",
    component: pageOf(() => import("./pages/evals/evals-page.tsx"), "EvalsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/evals/$id",
    validateSearch: readEvalSearch,
    component: pageOf(() => import("./pages/evals/eval-page.tsx"), "EvalPage"),
  }),
] as const;

const plans = [
  createRoute({
    getParentRoute: () => root,
    path: "/plans",
    component: pageOf(() => import("./pages/plans/plans-page.tsx"), "PlansPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/plans/new",
    validateSearch: readPlannerSearch,
    component: pageOf(() => import("./pages/plans/new-plan-page.tsx"), "NewPlanPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/plans/$id",
    validateSearch: readPlannerSearch,
    component: pageOf(() => import("./pages/plans/plan-page.tsx"), "PlanPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/plans/$id/edit",
    component: pageOf(() => import("./pages/plans/plan-editor-page.tsx"), "PlanEditorPage"),
  }),
] as const;

const graphPage = pageOf(() => import("./pages/editor/graph-page.tsx"), "GraphPage");
const stepsPage = pageOf(() => import("./pages/editor/steps-page.tsx"), "StepsPage");

const editors = [
  createRoute({ getParentRoute: () => root, path: "/editor/graph", component: graphPage }),
  createRoute({ getParentRoute: () => root, path: "/editor/graph/$name", component: graphPage }),
  createRoute({ getParentRoute: () => root, path: "/editor/steps", component: stepsPage }),
  createRoute({
    getParentRoute: () => root,
    path: "/editor/steps/$name",
    validateSearch: readStepsSearch,
    component: stepsPage,
  }),
] as const;

/** The routes. All pages but the first are loaded on demand. */
export const router = createRouter({
  routeTree: root.addChildren([
    ...([threads, inbox, thread, compare, workflows, workflow, add] as const),
    ...plans,
    ...evals,
    ...editors,
  ]),
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
