//! The picture of the README: the timeline and the inline diff.

use std::fs;

use backstitch_protocol::REWIND_LENS;
use serde_json::json;

use super::rig::{Neovim, configure, plugin, world};
use crate::editors::picture::svg;

const PRICES: &str = r#""""What a customer pays."""

RATES = {"basic": 9, "team": 29}


def price(plan, seats):
    """The price of a month, in euros."""
    rate = RATES[plan]
    return rate * seats


def invoice(customer):
    total = price(customer.plan, customer.seats)
    print("total:", total)
    return total
"#;

/// `BACKSTITCH_RENEW_SCREENS=1` draws it again.
#[test]
fn the_readme_shows_the_timeline_and_a_diff() {
    let world = world(&[("prices.py", PRICES), ("legacy.py", "RATES = {}\n")]);
    configure(
        &world,
        "vim.o.termguicolors = true
        vim.o.background = 'dark'
        vim.o.fillchars = 'eob: '
        vim.g.backstitch = { timeline = { size = 56 } }",
    );
    let mut agent = world.agent();
    agent.prompt("Yearly plans get two months for free");
    agent.edit(
        "prices.py",
        "def price(plan, seats):\n    \"\"\"The price of a month, in euros.\"\"\"\n    rate = RATES[plan]\n    return rate * seats\n",
        "def price(plan, seats, months=1):\n    \"\"\"The price of some months, in euros.\"\"\"\n    rate = RATES[plan]\n    if months >= 12:\n        months -= 2\n    return rate * seats * months\n",
    );
    let command = "rm legacy.py; echo 'def test_year(): ...' > test_prices.py";
    let input = json!({ "command": command, "description": "Replace the old tests" });
    let call = agent.pre("Bash", input);
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    agent.batch(&[&call]);
    agent.stop();
    agent.prompt("Log totals, do not print them");
    agent.edit(
        "prices.py",
        "    print(\"total:\", total)\n",
        "    log.info(\"total %d\", total)\n",
    );
    agent.stop();
    let Some(mut nvim) = Neovim::start(&world, "plugin-picture", &["prices.py"]) else {
        return;
    };
    nvim.is_attached();
    nvim.screen.shows(REWIND_LENS);
    nvim.ex("Backstitch diff t1");
    nvim.screen.shows("3 changes since t1");
    nvim.ex("Backstitch");
    nvim.screen.shows("● Edit prices.py");
    nvim.screen.keys("/Yearly\r\t");
    nvim.screen.shows("Bash Replace the old tests");
    nvim.screen.keys("j\t");
    nvim.screen.shows("A test_prices.py");
    nvim.screen.keys("gg:nohlsearch | echo ''\r");
    // a changed screen needs a new picture
    nvim.screen.is_like("shown", "legacy.py");
    let path = plugin().join("timeline.svg");
    if let Some(screen) = nvim.screen.renewed() {
        let label = "Neovim: an inline diff beside the timeline of an agent's turns";
        fs::write(&path, svg(screen, label)).expect("written");
    }
    assert!(path.exists());
}
