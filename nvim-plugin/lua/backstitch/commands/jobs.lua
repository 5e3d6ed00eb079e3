--- Subcommands of `:Backstitch` on CI jobs.
local task = require('backstitch.task')

local M = {}

---@type backstitch.Subcommand[]
M.SUBCOMMANDS = {
  {
    name = 'job',
    usage = '[debug|run|attach] [{job}]',
    desc = 'Steps through the CI job at the cursor of a workflow file, under nvim-dap or in a terminal; `run` runs it in a'
      .. ' terminal without a stop, and `attach` continues a run that was left. Outside of a job it asks for one. See'
      .. ' |backstitch-jobs|.',
    max_args = 2,
    complete = { 'job', 'job_name' },
    run = function(typed)
      local jobs = require('backstitch.jobs')
      local action = typed.args[1] or 'debug'
      if action == 'debug' then
        jobs.debug(typed.buf, typed.args[2])
      elseif action == 'run' then
        jobs.run(typed.buf, typed.args[2])
      elseif action == 'attach' then
        jobs.attach(typed.buf, typed.args[2])
      else
        task.fail({
          message = ("unknown action '%s'"):format(action),
          hint = 'the actions are ' .. table.concat(jobs.ACTIONS, ', '),
        })
      end
    end,
  },
}

return M
