import { ChevronRight } from "lucide-react";
import { createContext, type ReactNode, useContext, useId, useState } from "react";

/** Whether each section is open, by name. Kept while cards are out of view and not rendered. */
export const SectionsContext = createContext<Map<string, boolean>>(new Map());

type Props = {
  /** A name that is unique on the page. */
  name: string;
  title: string;
  note?: ReactNode;
  /** Whether the section is open initially. */
  isOpen?: boolean;
  /** Heading level, one below the surrounding heading. */
  heading?: "h3" | "h4";
  children: () => ReactNode;
};

/** A collapsible part of a card. Its content is rendered when open. */
export function Section(props: Props) {
  const { name, title, note, isOpen = false, heading: Heading = "h4", children } = props;
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
      <Heading>
        <button
          type="button"
          className="group flex w-full cursor-pointer items-center gap-2 px-4 py-1 text-left text-small font-semibold text-muted -outline-offset-2 hover:bg-hover hover:text-ink"
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          onClick={toggle}
        >
          <ChevronRight className="text-faint transition-[rotate] duration-100 group-aria-expanded:rotate-90" />
          {title}
          {note && <span className="flex-[1_1_0] truncate font-normal text-faint">{note}</span>}
        </button>
      </Heading>
      {open && (
        <div id={id} className="pt-0.5 pr-4 pb-3 pl-9 max-sm:pl-4">
          {children()}
        </div>
      )}
    </section>
  );
}
