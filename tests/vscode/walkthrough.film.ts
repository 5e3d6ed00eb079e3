// Pictures for the extension's walkthrough and its page: tests/vscode/run -c film.config.ts walkthrough
import path from 'node:path';
import { extension } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

const BEFORE = `from store import users


def login(name, password):
    user = users.find(name)
    if user.password != password:
        return None
    return user
`;
const settings = {
  'git.enabled': false,
  'editor.fontSize': 13,
  'window.menuBarVisibility': 'hidden',
  'breadcrumbs.enabled': false,
  'backstitch.lensForm': 'short',
};

for (const theme of ['dark', 'light'] as const) {
  test.describe(() => {
    test.use({ vscode: { theme, settings }, viewport: { width: 900, height: 480 } });

    test(`the walkthrough, ${theme}`, async ({ world, agent, code }) => {
      world.commit({ 'auth.py': BEFORE, 'store.py': 'users = {}\n' });
      world.run('setup', 'claude-code');
      const window = await code.open('auth.py');
      const { editor, activity } = window;
      await activity.open('Backstitch');
      const tree = window.tree('Timeline');
      const picture = (name: string) =>
        window.page.screenshot({ path: path.join(extension, `media/walkthrough/${name}-${theme}.png`) });
      agent.start();
      agent.turn('log every sign-in', () => agent.edit('auth.py', '    return user\n', '    print(name)\n    return user\n'));
      agent.turn('hash the passwords', () => {
        agent.edit('auth.py', 'from store', 'import hashlib\nfrom store');
        agent.edit('auth.py', 'user.password != password', 'user.digest != hashlib.sha256(password).digest()');
        agent.bash('echo hashlib > requirements.txt', 'Write the requirements');
      });
      await tree.expand('hash the passwords');
      await expect(tree.row('Write the requirements')).toBeVisible();
      await expect(editor.lens('Revert turn').first()).toBeVisible();
      await picture('timeline');
      await tree.menu('hash the passwords', 'Rewind…');
      if (theme === 'light') return;
      await window.plan.ready(/^Rewind to before/);
      await expect(window.plan.files.entry('auth.py').modified.root).toBeVisible();
      const file = path.join(extension, 'media/walkthrough/rewind.png');
      await window.page.screenshot({ path: file, clip: { x: 280, y: 36, width: 615, height: 316 } });
    });
  });
}
