import type { DrawnNode, Point } from "@uncaged/workflow/editing";
import {
  applyEdgeChanges,
  applyNodeChanges,
  Background,
  type Connection,
  type Edge,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import {
  type DragEvent,
  type KeyboardEvent,
  memo,
  type RefObject,
  startTransition,
  useContext,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { counted } from "../../lib/format.ts";
import { useDocumentPart, useEdited, useEditor } from "../document/use-document.ts";
import type { CanvasHandle } from "./actions.ts";
import { type FlowNode, flowEdges, useFlowNodes } from "./flow.ts";
import { type Rect, rectsOf, type Size } from "../../ui/layout.ts";
import { type Settled, settled } from "./geometry.ts";
import { Line } from "./line.tsx";
import { Minimap } from "./minimap.tsx";
import { MarksContext, NodeBox, ProblemsContext } from "./node-box.tsx";
import { usePositions } from "./positions.ts";
import { useView, type View, viewOf, zoomLimits } from "./view.ts";
import { ZoomButtons } from "./zoom-buttons.tsx";

const nodeTypes = { box: NodeBox };
const edgeTypes = { line: Line };

const hint = "Enter edits it, question mark lists all keys.";

const described = {
  "node.a11yDescription.default": hint,
  "node.a11yDescription.keyboardDisabled": hint,
};

/** MIME type of a dragged palette item. */
export const draggedType = "application/x-editor-node";

type Props = {
  handle: RefObject<CanvasHandle | null>;
  onOpen: (node: DrawnNode) => void;
};

/**
 * The drawing of a document. It measures its box first, so that the first frame already has its final view. Memoized: a
 * running workflow does not redraw it.
 */
export const Canvas = memo(function Canvas(props: Props) {
  const [size, setSize] = useState<Size | null>(null);
  const [measure] = useState(() => (element: HTMLDivElement | null) => {
    if (!element) return;
    const { clientWidth: width, clientHeight: height } = element;
    // A first drawing of thousands of nodes must not block the page.
    startTransition(() => setSize({ width, height }));
  });
  const drawing = useDocumentPart(useEdited(), (state) => state.drawing);
  const given = usePositions(drawing);
  const places = useMemo(() => settled(drawing, given), [drawing, given]);
  const isPlaced = drawing.nodes.length === 0 || given.size > 0;
  return (
    <div ref={measure} className="graph relative min-h-0 min-w-0 flex-1">
      {size && isPlaced && (
        <ReactFlowProvider>
          <Drawn {...props} places={places} first={size} />
        </ReactFlowProvider>
      )}
    </div>
  );
});

const none: ReadonlyMap<string, Point> = new Map();

type DrawnProps = Props & { places: Settled; first: Size };

function Drawn({ handle, onOpen, places, first }: DrawnProps) {
  const { positions, sizes } = places;
  const { document, actions, isReadOnly } = useEditor();
  const drawing = useDocumentPart(document, (state) => state.drawing);
  const selection = useDocumentPart(document, (state) => state.selection);
  const [dragged, setDragged] = useState(none);
  const rects = useMemo(
    () => rectsOf(drawing.nodes, positions, sizes),
    [drawing, positions, sizes],
  );
  const problems = useContext(ProblemsContext);
  const nodes = useFlowNodes(drawing.nodes, {
    positions,
    sizes,
    dragged,
    selected: selection.nodes,
    noteOf: (node) => noteOf(node, document.kind.palette, problems.get(node.id)?.length ?? 0),
    isEditable: !isReadOnly && document.kind.move !== undefined,
  });
  const { nodes: marks, edges: edgeMarks } = useContext(MarksContext);
  const edges = useMemo(
    () => flowEdges(drawing.edges, selection.edges, edgeMarks),
    [drawing.edges, selection.edges, edgeMarks],
  );
  const box = useRef<HTMLDivElement>(null);
  const { screenToFlowPosition } = useReactFlow();
  const current = useRef(rects);
  current.current = rects;
  const [rectsNow] = useState(() => () => current.current);
  const view = useView(rectsNow);
  const focus = (id: string) => showSoon(id, rectsNow, view, 20);
  const show = (id: string) => {
    const rect = rectsNow().get(id);
    if (rect) view.show(rect);
  };
  useImperativeHandle(handle, () => ({ view, rects: rectsNow, focus, show }));
  const showSelected = useEffectEvent(() => {
    const [id, ...others] = selection.nodes;
    if (id !== undefined && others.length === 0) show(id);
  });
  // A node may be found and selected before a large drawing is ready.
  useEffect(() => showSelected(), []);
  useWheel(box, view.zoomBy);
  const [begin] = useState(() => {
    const marked = new Map([...rects].filter(([id]) => marks.has(id)));
    return viewOf(marked.size > 0 ? marked : rects, first);
  });
  const reconnected = useRef(false);
  /** The selection when the nodes received the focus; null after a key acted on a node. */
  const entered = useRef<typeof selection | null>(null);

  const take = (changes: NodeChange<FlowNode>[]) => {
    if (changes.some(isSelect))
      document.select({ ...selection, nodes: selectedIn(applyNodeChanges(changes, nodes)) });
    const moves = changes.flatMap((change): [string, Point][] =>
      change.type === "position" && change.dragging && change.position
        ? [[change.id, change.position]]
        : [],
    );
    if (moves.length > 0) setDragged(new Map(moves));
  };
  const takeEdges = (changes: EdgeChange[]) => {
    const chosen = selectedIn(applyEdgeChanges(changes, edges));
    if (changes.some(isSelect)) document.select({ ...document.state().selection, edges: chosen });
  };
  const dropped = (moved: readonly FlowNode[]) => {
    const parents = new Map(drawing.nodes.map(({ id, parent }) => [id, parent]));
    const points = moved.map(({ id, position }): [string, Point] => {
      const outer = rects.get(parents.get(id) ?? "") ?? { x: 0, y: 0 };
      return [id, { x: position.x + outer.x, y: position.y + outer.y }];
    });
    actions.drop(new Map(points));
    setDragged(none);
  };
  const connect = (
    { source, sourceHandle, target, targetHandle }: Connection,
    replacing?: string,
  ) =>
    actions.connect(
      { node: source, port: sourceHandle ?? "" },
      { node: target, port: targetHandle ?? "" },
      replacing,
    );
  const detach = (edge: Edge, { toNode }: FinalConnectionState) => {
    if (!reconnected.current && !toNode) actions.removeEdge(edge.id);
  };
  const drop = (event: DragEvent) => {
    const type = event.dataTransfer.getData(draggedType);
    if (type === "" || isReadOnly) return;
    event.preventDefault();
    event.stopPropagation();
    actions.add(type, screenToFlowPosition({ x: event.clientX, y: event.clientY }));
  };
  return (
    <div
      ref={box}
      className="absolute inset-0"
      onKeyDownCapture={(event) => {
        if (event.key !== "Tab") entered.current = null;
        else if (!walk(event, drawing.nodes, focus) && entered.current?.nodes.size)
          // Tab only passed through the nodes to the panels of the selected node.
          document.select(entered.current);
      }}
      onFocusCapture={({ target, relatedTarget }) => {
        const id = nodeIdOf(target);
        if (id === null || !target.matches(":focus-visible")) return;
        if (nodeIdOf(relatedTarget) === null) entered.current = selection;
        if (selection.nodes.size <= 1) actions.select([id]);
      }}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes(draggedType)) event.preventDefault();
      }}
      onDrop={drop}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        defaultViewport={begin}
        width={first.width}
        height={first.height}
        minZoom={zoomLimits.least}
        maxZoom={zoomLimits.most}
        onlyRenderVisibleElements
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        nodesConnectable={!isReadOnly}
        edgesReconnectable={!isReadOnly}
        elementsSelectable
        edgesFocusable={false}
        disableKeyboardA11y
        autoPanOnNodeFocus={false}
        elevateNodesOnSelect={false}
        deleteKeyCode={null}
        connectionRadius={24}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={described}
        onNodesChange={take}
        onEdgesChange={takeEdges}
        onNodeDragStop={(_, __, moved) => dropped(moved)}
        onSelectionDragStop={(_, moved) => dropped(moved)}
        onConnect={(connection) => connect(connection)}
        onReconnectStart={() => (reconnected.current = false)}
        onReconnect={(edge, connection) => {
          reconnected.current = true;
          connect(connection, edge.id);
        }}
        onReconnectEnd={(_, edge, __, state) => detach(edge, state)}
        onNodeDoubleClick={(_, { data }) => onOpen(data.node)}
      >
        <Background gap={20} />
        <Minimap rects={rects} />
      </ReactFlow>
      <ZoomButtons view={view} />
    </div>
  );
}

const boxes = ".react-flow__node";

export const nodeIdOf = (target: EventTarget | null): string | null =>
  target instanceof Element ? (target.closest<HTMLElement>(boxes)?.dataset.id ?? null) : null;

export const nodeElement = (id: string): HTMLElement | null =>
  window.document.querySelector(`${boxes}[data-id="${CSS.escape(id)}"]`);

/**
 * Shows and focuses a node. Retries at each frame: a new node is drawn one frame later, and a node out of
 * view two frames later.
 */
function showSoon(
  id: string,
  rects: () => ReadonlyMap<string, Rect>,
  view: View,
  tries: number,
): void {
  const rect = rects().get(id);
  if (rect) view.show(rect);
  const element = rect && nodeElement(id);
  if (element) element.focus({ preventScroll: true });
  else if (tries > 0) requestAnimationFrame(() => showSoon(id, rects, view, tries - 1));
}

/** Moves Tab through all nodes in document order, including nodes out of view. Returns false if Tab leaves them. */
function walk(
  event: KeyboardEvent,
  nodes: readonly DrawnNode[],
  focus: (id: string) => void,
): boolean {
  const id = nodeIdOf(event.target);
  if (id === null) return true;
  const next = nodes[nodes.findIndex((node) => node.id === id) + (event.shiftKey ? -1 : 1)];
  if (!next) return false;
  event.preventDefault();
  event.stopPropagation();
  focus(next.id);
  return true;
}

const isSelect = ({ type }: NodeChange<FlowNode> | EdgeChange): boolean => type === "select";

const selectedIn = (all: readonly { id: string; selected?: boolean }[]): ReadonlySet<string> =>
  new Set(all.flatMap(({ id, selected }) => (selected ? [id] : [])));

function noteOf(
  { type }: DrawnNode,
  palette: readonly { type: string; label: string }[],
  problems: number,
): string {
  const label = palette.find((item) => item.type === type)?.label ?? type;
  return problems > 0 ? `${label}, ${counted(problems, "problem")}` : label;
}

/** Zooms by the wheel in steps, about the centre. */
function useWheel(box: RefObject<HTMLDivElement | null>, zoomBy: (steps: number) => void): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let turned = 0;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      turned += event.deltaY;
      if (Math.abs(turned) < 40) return;
      zoomBy(turned > 0 ? -1 : 1);
      turned = 0;
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [box, zoomBy]);
}
