import { ChevronRight } from "lucide-react";
import { createContext, type ReactNode, useContext, useId, useState } from "react";
import { Copy } from "./button.tsx";

/** Whether each section is open, by name. Kept while sections are not rendered. */
export const SectionsContext = createContext<Map<string, boolean>>(new Map());

type Props = {
  /** Sections with the same name open and close together over time. */
  name: string;
  title: string;
  note?: ReactNode;
  /** The text of a button that copies the content. */
  copy?: () => string | Promise<string>;
  isOpen?: boolean;
  children: () => ReactNode;
};

/** A collapsible part. Its content is rendered when open. */
export function Section({ name, title, note, copy, isOpen = false, children }: Props) {
  const sections = useContext(SectionsContext);
  const [chosen, choose] = useState(sections.get(name));
  const id = useId();
  const open = chosen ?? isOpen;
  const toggle = () => {
    sections.set(name, !open);
    choose(!open);
  };
  return (
    <section className="border-t">
      <div className="flex items-center gap-1 pr-2">
        <h3 className="min-w-0 flex-1">
          <button
            type="button"
            className="group flex min-h-9 w-full cursor-pointer items-center gap-2 px-4 text-left font-semibold -outline-offset-2 hover:bg-hover max-sm:min-h-10"
            aria-expanded={open}
            aria-controls={open ? id : undefined}
            onClick={toggle}
          >
            <ChevronRight className="text-faint transition-[rotate] duration-100 group-aria-expanded:rotate-90" />
            {title}
            {note && (
              <span className="flex-[1_1_0] truncate text-small font-normal text-faint">
                {note}
              </span>
            )}
          </button>
        </h3>
        {open && copy && <Copy text={copy} what={`the ${title.toLowerCase()}`} />}
      </div>
      {open && (
        <div id={id} className="flex min-w-0 flex-col gap-3 px-4 pt-1 pb-4">
          {children()}
        </div>
      )}
    </section>
  );
}
